// Base64, as JSON files carry bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace slipway {

/// The bytes of a text in the standard alphabet, padded or not; nothing for any other text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace slipway

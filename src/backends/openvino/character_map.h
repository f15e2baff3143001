// Tables of SentencePiece's normalizer: what becomes of characters.
#pragma once

#include <map>
#include <string>

namespace slipway::openvino {

/// A table, in SentencePiece's `precompiled_charsmap` form, that replaces each key (bytes, neither
/// empty nor with a NUL) by its value (without a NUL); where several match the longest does. What
/// has no key stays.
std::string character_map(const std::map<std::string, std::string>& replacements);

/// The table that brings text into lower case as the library `tokenizers` does.
const std::string& lowercase_map();

}  // namespace slipway::openvino

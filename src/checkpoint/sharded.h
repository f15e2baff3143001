// The index of a checkpoint whose weights are spread over several safetensors files.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace slipway {

/// The weight_map of a model.safetensors.index.json: tensor name -> file name. Throws
/// Error{kInvalid} for anything but plain file names in the same folder.
std::map<std::string, std::string> parse_shard_index(std::string_view text,
                                                     const std::string& where);

}  // namespace slipway

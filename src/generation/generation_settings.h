// Where generation ends and what it pads with, as a checkpoint's files state it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace slipway {

/// generation_config.json, completed key by key from config.json.
struct GenerationSettings {
  std::vector<int64_t> eos_ids;
  std::optional<int64_t> pad_id;
  std::optional<int64_t> max_new_tokens;
  std::optional<int64_t> max_length;  ///< prompt and new tokens; generation_config.json only

  /// Missing files say nothing. Throws Error{kInvalid} naming the file and key for a value of the
  /// wrong type.
  static GenerationSettings from_directory(const std::filesystem::path& directory);
  /// Either may be null.
  static GenerationSettings from_json(const Json& generation_config, const Json& config);
};

}  // namespace slipway

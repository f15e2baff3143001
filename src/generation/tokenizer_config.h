// What tokenizer_config.json and special_tokens_map.json say beside tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace slipway {

enum class Side { kRight, kLeft };

/// The settings of a tokenizer, read as the reference reads them: special_tokens_map.json counts
/// only when tokenizer_config.json has no `added_tokens_decoder`, and then it wins.
struct TokenizerConfig {
  /// Missing files give the defaults. Throws Error{kInvalid} for a file that is not valid JSON or
  /// holds a value of the wrong type, naming the file and the key.
  static TokenizerConfig from_directory(const std::filesystem::path& directory);
  /// `special_tokens_map` may be null. `source` is used in messages only.
  static TokenizerConfig from_json(const Json& config, const Json& special_tokens_map,
                                   const std::string& source);

  /// By the names that templates see: bos_token, eos_token, ..., and those of one model only
  /// (image_token). Tokens that are not set are absent.
  std::map<std::string, std::string> special_tokens;
  /// Tokens to add to the vocabulary or to mark as special, in the form slipway_tokenizer_new
  /// takes.
  Json added_tokens = Json::array();
  Side padding_side = Side::kRight;
  Side truncation_side = Side::kRight;
  /// The longest input of the model, when the file states a real one.
  std::optional<int64_t> max_length;
  /// Null, a text, or a list of {name, template}.
  Json chat_template;
};

}  // namespace slipway

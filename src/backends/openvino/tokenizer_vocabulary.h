// The tokens of a tokenizer by their ids, and how byte-level vocabularies write bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/openvino/tokenizer_part.h"
#include "backends/openvino/tokenizer_steps.h"

namespace slipway::openvino {

struct Vocabulary {
  std::vector<std::string> tokens;  ///< of the model, by id; "" where an id has none
  std::unordered_map<std::string, int64_t> ids;
  std::vector<float> scores;  ///< of Unigram, by id

  /// From `model` of tokenizer.json. Throws Error{kInvalid} for ids that are none.
  static Vocabulary from(const Part& model);
};

/// `added_tokens` of tokenizer.json, changed and extended by what tokenizer_config.json says: rows
/// with `content` and flags. Sorted by id.
std::vector<AddedToken> added_tokens(const Part& tokenizer, const Json& config_rows,
                                     const Vocabulary& vocabulary);

/// The bytes that a token of a byte-level vocabulary stands for; nothing when a character of it
/// stands for none.
std::optional<std::string> bytes_of_token(std::string_view token);

/// The byte of "<0x41>"; nothing for another token.
std::optional<char> fallback_byte(std::string_view token);

}  // namespace slipway::openvino

// The vocabulary of a GGUF file, checked, with its merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/gguf.h"

namespace slipway {

/// The kinds of tokens, numbered as in the file.
enum class GgufTokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct GgufVocab {
  std::string_view model;                             ///< tokenizer.ggml.model
  std::vector<std::string_view> tokens;               ///< by id, as the file spells them
  std::vector<GgufTokenKind> kinds;                   ///< by id; kNormal where the file states none
  std::optional<int64_t> bos, eos, unknown, padding;  ///< ids inside the vocabulary
  bool add_bos = false, add_eos = false;

  /// Whether text that spells this token stands for it whole: control and user-defined tokens and
  /// the four above.
  bool is_added(size_t id) const;
  /// Whether an added token is left out of decoded text: all but the user-defined.
  bool is_special(size_t id) const;
};

/// Reads tokenizer.ggml.*. Throws Error{kInvalid} for arrays that do not fit together, ids outside
/// the vocabulary and texts that are not UTF-8.
GgufVocab gguf_vocab(const GgufFile& file);

using GgufMerges = std::vector<std::pair<std::string, std::string>>;

/// tokenizer.ggml.merges cut at their space; nullopt where the file has none.
std::optional<GgufMerges> gguf_stored_merges(const GgufFile& file);

/// The merges that a sentencepiece vocabulary implies: every way to cut a token into two others,
/// the tokens of higher score first. Throws Error{kInvalid} where the file has no usable scores.
GgufMerges gguf_implied_merges(const GgufFile& file, const GgufVocab& vocab);

}  // namespace slipway

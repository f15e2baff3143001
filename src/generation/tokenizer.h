// Text to token ids and back, with the tokenizer files that a checkpoint or an export holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generation/tokenizer_config.h"
#include "slipway/tensor.h"

struct slipway_stream;
struct slipway_tokenizer;

namespace slipway {

enum class SpecialTokens { kKeep, kSkip };

struct EncodeOptions {
  /// Whether the tokenizer puts its special tokens (BOS, CLS, SEP) around the text. A chat
  /// template's text already has them.
  bool add_special_tokens = true;
  /// The most tokens of a row, special ones included.
  std::optional<int64_t> max_length = {};
  /// The side that loses tokens; the configuration's when not given.
  std::optional<Side> truncation_side = {};
};

struct BatchOptions : EncodeOptions {
  /// The side that gets padding; the configuration's when not given.
  std::optional<Side> padding_side = {};
  /// The id to pad with; the pad token's when not given.
  std::optional<int64_t> pad_id = {};
};

/// One text's tokens; the three are equally long.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;
  std::vector<int64_t> attention_mask;
};

/// Rows padded to the longest; int64 tensors [batch, sequence].
struct EncodedBatch {
  Tensor input_ids;
  Tensor token_type_ids;
  Tensor attention_mask;
};

/// Turns ids that arrive one by one into text. Keeps its tokenizer alive.
class TextStream {
 public:
  /// The text that is certain now: empty while a character is incomplete.
  std::string push(int64_t id);
  /// What was held back. The stream then starts afresh.
  std::string finish();

 private:
  friend class Tokenizer;
  explicit TextStream(std::shared_ptr<slipway_stream> stream) : stream_(std::move(stream)) {}
  std::shared_ptr<slipway_stream> stream_;
};

/// A tokenizer, immutable: const calls may come from several threads. Copies share it.
/// Texts must be UTF-8: Error{kInvalid} says at which byte one is not.
class Tokenizer {
 public:
  /// Reads tokenizer.json, tokenizer_config.json and special_tokens_map.json. Throws
  /// Error{kInvalid} when tokenizer.json is missing or any of the files is malformed.
  static Tokenizer from_directory(const std::filesystem::path& directory);
  /// `source` is used in messages only.
  static Tokenizer from_json(std::string_view tokenizer_json, TokenizerConfig config,
                             const std::string& source);

  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// A pair of texts, joined as the tokenizer's post-processor does it.
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  /// Throws Error{kInvalid} when rows differ in length and there is no pad token or pad_id.
  EncodedBatch encode_batch(std::span<const std::string> texts,
                            const BatchOptions& options = {}) const;

  /// An id that is a number below 2^32 but in no vocabulary gives no text, as in the reference;
  /// other numbers are Error{kInvalid}.
  std::string decode(std::span<const int64_t> ids, SpecialTokens special) const;
  TextStream stream(SpecialTokens special) const;

  std::optional<int64_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int64_t id) const;
  /// The id of a special token by its name: "bos_token", "eos_token", "pad_token", ...
  std::optional<int64_t> special_id(const std::string& name) const;
  std::optional<int64_t> bos_id() const { return special_id("bos_token"); }
  std::optional<int64_t> eos_id() const { return special_id("eos_token"); }
  std::optional<int64_t> pad_id() const { return special_id("pad_token"); }

  /// Tokens, added ones included.
  int64_t vocab_size() const;
  /// The largest id of a token: a model needs more rows than this.
  int64_t max_id() const;

  const TokenizerConfig& config() const { return config_; }

 private:
  Tokenizer(std::shared_ptr<const slipway_tokenizer> handle, TokenizerConfig config)
      : handle_(std::move(handle)), config_(std::move(config)) {}

  std::shared_ptr<const slipway_tokenizer> handle_;
  TokenizerConfig config_;
};

}  // namespace slipway

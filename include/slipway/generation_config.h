// Generation settings under the reference's names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// When a beam search may end before the longest length (GenerationConfig.early_stopping).
enum class EarlyStopping {
  kFalse,  ///< when no running beam looks able to beat the finished ones, by a heuristic
  kTrue,   ///< as soon as num_beams sequences are finished
  kNever,  ///< only when no running beam can beat the finished ones
};

/// Why a row ended.
enum class FinishReason {
  kEos,     ///< an end token
  kStop,    ///< a stop string
  kLength,  ///< the longest length
  kCaller,  ///< the caller's callback
};

/// How to generate, and which cache an export for generation gets. A field that is not set takes
/// its value from the export's generation_config.json, then config.json, then the default named
/// here. generate() checks the values that it uses and throws Error{kInvalid} naming the field.
///
/// Settings act on the logits of a step in the reference's order: repetition_penalty,
/// no_repeat_ngram_size, min_length / min_new_tokens; with do_sample then temperature, top_k,
/// top_p, min_p. With beams they act on log-probabilities, as there.
struct GenerationConfig {
  // Length, in tokens.
  std::optional<int64_t> max_new_tokens;  ///< 128 where no file says anything
  std::optional<int64_t> max_length;      ///< prompt included; max_new_tokens wins
  std::optional<int64_t> min_new_tokens;  ///< end tokens are impossible before; 0
  std::optional<int64_t> min_length;      ///< prompt included; min_new_tokens wins; 0

  // End and padding.
  std::optional<std::vector<int64_t>> eos_token_id;      ///< a row ends after any of these
  std::optional<int64_t> pad_token_id;                   ///< else the first end token, else 0
  std::optional<std::vector<std::string>> stop_strings;  ///< a row ends when its new text has one

  // Choice of tokens.
  std::optional<bool> do_sample;                ///< false: the highest score
  std::optional<double> temperature;            ///< above 0; 1
  std::optional<int64_t> top_k;                 ///< 0: all; 50 when sampling, as the reference
  std::optional<double> top_p;                  ///< in (0, 1]; 1
  std::optional<double> min_p;                  ///< in [0, 1]; none
  std::optional<double> repetition_penalty;     ///< above 0; 1; of prompt and new ids, not padding
  std::optional<int64_t> no_repeat_ngram_size;  ///< 0: off; of the whole row, padding too
  std::optional<uint64_t> seed;                 ///< of sampling; 0; files have none

  // Beams and returned sequences.
  std::optional<int64_t> num_beams;             ///< 1
  std::optional<double> length_penalty;         ///< 1
  std::optional<EarlyStopping> early_stopping;  ///< kFalse
  std::optional<int64_t> num_return_sequences;  ///< 1

  // Prompt-lookup decoding: greedy, with guesses copied from earlier text.
  std::optional<int64_t> prompt_lookup_num_tokens;  ///< guesses a step; not set: off
  std::optional<int64_t> max_matching_ngram_size;   ///< longest match looked for; 2

  // The cache of an export for generation.
  std::optional<std::string> cache_implementation;  ///< "dynamic" or "static"
  /// Slots of a static cache. generate() takes as many as a call needs where the export leaves the
  /// number open and the call does not give one.
  std::optional<int64_t> max_cache_len;

  /// Reads generation_config.json and config.json of a directory; fields in neither stay unset.
  /// Throws Error{kInvalid} for a malformed file or a value of the wrong type.
  static GenerationConfig from_pretrained(const std::filesystem::path& directory);

  /// These settings, completed by `defaults` where they are not set. A longest length that is given
  /// here in one way (max_new_tokens, max_length) is not completed in the other, nor a shortest.
  GenerationConfig merged(const GenerationConfig& defaults) const;

  bool operator==(const GenerationConfig&) const = default;
};

}  // namespace slipway

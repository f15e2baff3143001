// The settings of one generate() call: every field decided and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generation/decoder_state.h"
#include "slipway/generation_config.h"

namespace slipway {

/// GenerationConfig with its defaults, for a prompt of a certain length. Lengths of rows count
/// padding, as the reference's do.
struct GenerationPlan {
  int64_t prompt_length = 0;
  int64_t max_new_tokens = 0;  ///< at least 1
  int64_t min_length = 0;      ///< prompt included: end tokens are impossible before

  std::vector<int64_t> eos;
  int64_t pad = 0;
  std::vector<std::string> stop_strings;

  bool do_sample = false;
  double temperature = 1;
  int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  uint64_t seed = 0;

  int64_t num_beams = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::kFalse;
  int64_t num_return_sequences = 1;

  int64_t lookup_tokens = 0;  ///< 0: no prompt lookup
  int64_t lookup_ngram = 2;

  int64_t max_length() const { return prompt_length + max_new_tokens; }
  bool is_end(int64_t id) const;
};

/// Decides and checks. `limit` is the most tokens that a row can have, `kind` why; a longest
/// length that is not set is cut to it. Throws Error{kInvalid} naming the field, its value and what
/// it may be, for fields that the call uses; also for a prompt and new tokens beyond the limit.
GenerationPlan plan_generation(const GenerationConfig& config, int64_t prompt_length,
                               std::optional<int64_t> limit,
                               LengthLimit kind = LengthLimit::kPositions);

}  // namespace slipway

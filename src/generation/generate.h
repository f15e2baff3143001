// Continues prompts with a decoder: greedy, sampling, beams, prompt lookup.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "generation/decoder_state.h"
#include "generation/sequences.h"

namespace slipway {

/// What a caller wants to see or to add, beside the settings.
struct GenerateHooks {
  /// Called for each token of a row that has not ended, step by step, in order of rows; false ends
  /// generation. Not with beams: their rows are known at the end.
  std::function<bool(int64_t row, int64_t id)> on_token;
  /// Needed for stop strings.
  TextOf text_of;
  /// How many of the highest logits of the first step to record.
  int64_t first_step_top = 0;
  /// The number of the first prompt in the random streams: parts of a list of prompts give the same
  /// as the whole list when this is the place of their first one.
  int64_t first_prompt = 0;
};

/// Rows are num_return_sequences for each prompt, in order.
struct GeneratedTokens {
  /// A row per sequence, all equally long: what was generated (a token that ended the row
  /// included), then the padding token.
  std::vector<std::vector<int64_t>> new_ids;
  std::vector<int64_t> lengths;  ///< of each row before padding
  std::vector<FinishReason> finish_reasons;
  /// With beams: the sum of a row's log-probabilities divided by its length ^ length_penalty.
  std::vector<float> scores;
  /// (id, logit) for each prompt, highest first; the lower id first among equals.
  std::vector<std::vector<std::pair<int64_t, float>>> first_step_top;
  double prefill_seconds = 0;  ///< to the first token
  double decode_seconds = 0;   ///< of the rest
  int64_t forward_calls = 0;   ///< of the decoder, the prompt's included
};

/// Runs from a fresh state to the end of all rows. Rows that ended are fed the padding token until
/// the others end, as in the reference. Equal scores give the lowest id. Throws Error{kInvalid} for
/// a prompt or settings that do not fit (see Prompt, plan_generation), for logits that are NaN;
/// Error{kUsage} for hooks that do not go with the settings.
GeneratedTokens generate_tokens(DecoderState& state, const Tensor& input_ids,
                                const Tensor& attention_mask, const GenerationConfig& config,
                                const GenerateHooks& hooks);

}  // namespace slipway

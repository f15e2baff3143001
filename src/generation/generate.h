// Greedy decoding: the highest logit of each row, step after step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "generation/decoder.h"

namespace slipway {


struct GreedyOptions {
  int64_t max_new_tokens = 128;
  /// A row ends after any of these; empty: rows end at max_new_tokens only.
  std::vector<int64_t> eos_ids;
  /// What rows that ended are filled up with in the result.
  int64_t pad_id = 0;
  /// How many of the highest logits of the first step to record.
  int64_t first_step_top = 0;
  /// Called for each token of a row that has not ended, in order of rows; false ends generation.
  std::function<bool(int64_t row, int64_t id)> on_token;
};

struct GreedyResult {
  /// A row per sequence, all equally long: what was generated (a token that ended the row
  /// included), then pad_id.
  std::vector<std::vector<int64_t>> new_ids;
  /// The tokens of each row before padding.
  std::vector<int64_t> lengths;
  std::vector<bool> reached_eos;
  /// (id, logit), highest first; the lower id first among equals.
  std::vector<std::vector<std::pair<int64_t, float>>> first_step_top;
  double prefill_seconds = 0;  ///< to the first token
  double decode_seconds = 0;   ///< of the other steps
  int64_t decode_steps = 0;
};

/// Continues a batch of prompts. `input_ids` is [batch, sequence]; rows are padded on the left and
/// `attention_mask`, of the same shape, has 0 there (undefined: no padding). Logits of ties give
/// the lowest id. Throws Error{kInvalid} for empty prompts, rows padded on the right, more tokens
/// than the graphs can take; Error{kUnsupported} for graphs that are no decoders or have fixed
/// sizes.
GreedyResult generate_greedy(const DecoderGraphs& graphs, const Tensor& input_ids,
                             const Tensor& attention_mask, const GreedyOptions& options);

}  // namespace slipway

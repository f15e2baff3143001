// Rotary frequencies from rotary settings.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/config.h"

namespace slipway {

struct RopeFrequencies {
  /// Radians per position of each pair of dimensions: rotary dimensions / 2 values, rounded up.
  std::vector<float> inv_freq;
  /// What cos and sin are multiplied by.
  double attention_scaling = 1.0;
};

/// The number of leading head dimensions that turn: head_dim times partial_rotary_factor.
int64_t rotary_dim(const RopeParameters& rope, int64_t head_dim);

/// The frequencies for sequences of up to `seq_len` positions; absent means the model's maximum for
/// dynamic and the original length for longrope, and other types do not depend on it. Computed in
/// the precisions of the reference: settings in double, the vectors in float32, step by step.
/// Throws Error{kInvalid} for settings that do not fit the head size or each other.
RopeFrequencies rope_frequencies(const RopeParameters& rope, int64_t head_dim,
                                 int64_t max_position_embeddings,
                                 std::optional<int64_t> seq_len = std::nullopt);

}  // namespace slipway

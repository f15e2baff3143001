// Logits of a forward call, and single passes over the scores of a row.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// A view of logits [batch, positions, vocabulary]; valid as long as the tensor's contents are.
class Logits {
 public:
  /// Throws Error{kInternal} unless the tensor is float32 of `batch` rows and `positions`.
  Logits(Tensor logits, int64_t batch, int64_t positions);

  int64_t vocabulary() const { return logits_.dim(2); }
  std::span<const float> at(int64_t row, int64_t position) const;

 private:
  Tensor logits_;
};

/// The id of the highest score, the lowest id among equals; -infinity everywhere gives 0. Throws
/// Error{kInvalid} naming the row when a score is NaN: the answer would be meaningless.
int64_t best_token(std::span<const float> scores, int64_t row);

/// The highest `count` (id, score), falling; the lower id first among equals, NaN last.
std::vector<std::pair<int64_t, float>> top_tokens(std::span<const float> scores, int64_t count);

/// out = the logarithms of the probabilities of `scores`, equally long. Throws as best_token; also
/// when no score is finite.
void log_softmax(std::span<const float> scores, std::span<float> out, int64_t row);

/// The error of a row whose logits are NaN.
Error nan_error(int64_t row);

}  // namespace slipway

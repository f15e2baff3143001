// The logits of each row's last position.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// The last position of logits [batch, sequence, vocabulary] (or [batch, vocabulary]) as float32.
class LastLogits {
 public:
  /// Throws Error{kInvalid} for another shape, an empty one, or a dtype that is no float.
  explicit LastLogits(const Tensor& logits);

  int64_t rows() const { return rows_; }
  /// The id of the highest logit, the lowest id among equals. Throws Error{kInvalid} when a logit
  /// is NaN: the answer would be meaningless.
  int64_t best(size_t row) const;
  /// The highest `count` (id, logit), in falling order.
  std::vector<std::pair<int64_t, float>> top(size_t row, int64_t count) const;

 private:
  std::span<const float> row(size_t index) const;

  int64_t rows_ = 0, vocabulary_ = 0;
  std::vector<float> values_;
};

}  // namespace slipway

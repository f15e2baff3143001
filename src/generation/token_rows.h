// What a batch of sequences has read so far: how many tokens, and which of them are padding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// Padding stands in front of a row only, so one number a row tells it all.
class TokenRows {
 public:
  int64_t batch() const { return static_cast<int64_t>(pads_.size()); }
  int64_t length() const { return length_; }
  /// Changes whenever rows are something else than before with tokens appended.
  int64_t version() const { return version_; }
  bool has_padding() const;
  /// The number of leading tokens of a row that are padding.
  int64_t pads(int64_t row) const { return pads_[static_cast<size_t>(row)]; }

  /// Throws Error{kInvalid} unless `ids` and `mask` are int64 [batch, n >= 1] of this batch, and
  /// the mask is 0 only for padding in front of a row.
  void check(const Tensor& ids, const Tensor& mask) const;
  /// Takes in a mask that was checked. The first one fixes the batch.
  void append(const Tensor& mask);

  void reset();
  /// Throws Error{kInvalid} for a length beyond the present one.
  void crop(int64_t length);
  /// Throws Error{kInvalid} for no rows, or one that there is not.
  void reorder(std::span<const int64_t> rows);

  /// The positions of `count` tokens of each row from the `begin`th on, [batch, count]: the number
  /// of real tokens before each, 0 for padding.
  void write_positions(int64_t begin, int64_t count, int64_t* out) const;

 private:
  std::vector<int64_t> pads_;
  int64_t length_ = 0, version_ = 0;
};

}  // namespace slipway

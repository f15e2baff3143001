// Ranges of integers that a program computes while it runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace slipway::executorch {

/// Both ends included. What is not known, or beyond 2^62, ends at `kFar`.
struct IntRange {
  static constexpr int64_t kFar = int64_t{1} << 62;
  int64_t low = -kFar, high = kFar;

  bool known() const { return low > -kFar || high < kFar; }
};

/// Of a primitive kernel's result ("executorch_prim::add.Scalar") on integers; of kernels with one
/// argument `b` is not read.
IntRange range_of(std::string_view kernel, IntRange a, IntRange b);

}  // namespace slipway::executorch

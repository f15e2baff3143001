// Tests of integer ranges.
#include "backends/executorch/int_range.h"

#include <gtest/gtest.h>

namespace slipway::executorch {
namespace {

void expect(std::string_view op, IntRange a, IntRange b, int64_t low, int64_t high) {
  const IntRange got = range_of(op, a, b);
  EXPECT_EQ(got.low, low) << op;
  EXPECT_EQ(got.high, high) << op;
}

TEST(ExecutorchIntRange, FollowsThePrimitiveKernels) {
  expect("executorch_prim::add.Scalar", {0, 8}, {-1, 2}, -1, 10);
  expect("executorch_prim::sub.Scalar", {0, 8}, {-1, 2}, -2, 9);
  expect("executorch_prim::neg.Scalar", {0, 8}, {}, -8, 0);
  expect("executorch_prim::mul.Scalar", {-3, 8}, {-1, 2}, -8, 16);
  expect("executorch_prim::sym_min.Scalar", {0, 8}, {3, 4}, 0, 4);
  expect("executorch_prim::sym_max.Scalar", {0, 8}, {3, 4}, 3, 8);
  expect("executorch_prim::floordiv.Scalar", {-3, 8}, {2, 2}, -2, 4);
  expect("executorch_prim::mod.int", {0, 8}, {3, 3}, 0, 2);
}

TEST(ExecutorchIntRange, SaysWhatItDoesNotKnow) {
  for (const char* op : {"aten::sym_numel", "executorch_prim::truediv.Scalar", "other"})
    EXPECT_FALSE(range_of(op, {1, 2}, {1, 2}).known()) << op;
  EXPECT_FALSE(range_of("executorch_prim::floordiv.Scalar", {1, 2}, {0, 2}).known());
  EXPECT_FALSE(range_of("executorch_prim::mul.Scalar", {}, {}).known());
  expect("executorch_prim::add.Scalar", {0, IntRange::kFar}, {1, 1}, 1, IntRange::kFar);
}

}  // namespace
}  // namespace slipway::executorch

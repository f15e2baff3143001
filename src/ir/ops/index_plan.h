// What an indexing by several tensors means.
#pragma once

#include "ir/ops/infer.h"

namespace slipway::ops {

/// x[i0, :, i2, ...]: the indexed axes are replaced by the one shape that the index tensors
/// broadcast to. It stands where the indexed axes were when they are neighbours, else first.
struct IndexPlan {
  std::vector<int64_t> axes;    ///< indexed, ascending
  std::vector<Value> indices;   ///< one per indexed axis
  std::vector<int64_t> others;  ///< the rest, ascending
  SymShape picked;              ///< the shape of the index tensors together
  int64_t place = 0;            ///< how many of `others` lie before `picked` in the result
  SymShape result;

  /// Axes of the indexed tensor: the indexed ones, then the others.
  std::vector<int64_t> indexed_first() const;
  /// Axes of the result: those of `picked`, then the others.
  std::vector<int64_t> picked_first() const;
};

/// The permutation that undoes one.
std::vector<int64_t> inverse(const std::vector<int64_t>& axes);

/// Arguments 0 and 1 of index.Tensor and index_put. Error{kUnsupported} for bool masks: how many
/// elements they pick depends on their values.
IndexPlan index_plan(const Args& a);

}  // namespace slipway::ops

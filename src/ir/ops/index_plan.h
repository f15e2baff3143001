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
};

/// Arguments 0 and 1 of index.Tensor and index_put. Error{kUnsupported} for bool masks: how many
/// elements they pick depends on their values.
IndexPlan index_plan(const Args& a);

}  // namespace slipway::ops

// Shared walks of the evaluation functions.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ops/eval_rows.h"

namespace slipway::ops::eval {

/// Throws Error{kInvalid} naming the op unless `holds`: sizes that only the inputs decide.
void require(const EvalArgs& a, bool holds, std::string_view need);

/// An array of the shape and dtype of output 0, filled with zeros.
Array result(const EvalArgs& a);

/// Row-major strides of a shape.
std::vector<int64_t> strides_of(const Shape& shape);

/// For each element of `shape` in row-major order, the offset that `strides` gives.
std::vector<int64_t> offsets(const Shape& shape, const std::vector<int64_t>& strides);

/// For each element of `to` in row-major order, the element of `from` that broadcasting puts there.
/// Throws Error{kInvalid} when `from` does not broadcast to `to`.
std::vector<int64_t> broadcast_offsets(const EvalArgs& a, const Shape& from, const Shape& to);

/// A shape seen around one axis: [outer, size, inner].
struct Lanes {
  int64_t outer, size, inner;
  size_t at(int64_t o, int64_t i, int64_t in) const {
    return static_cast<size_t>((o * size + i) * inner + in);
  }
};
Lanes lanes(const Shape& shape, int64_t axis);

}  // namespace slipway::ops::eval

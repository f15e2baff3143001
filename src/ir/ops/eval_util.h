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

/// A tensor or number argument. Numbers are held in the precision that PyTorch computes in.
Array operand(const EvalArgs& a, size_t i, DType compute);

/// f of every element of the first argument.
template <class F>
std::vector<Array> each(const EvalArgs& a, F f) {
  Array out = result(a);
  const Array& x = a.array(0);
  require(a, x.values.size() == out.values.size(), "as many elements as the result");
  for (size_t i = 0; i < out.values.size(); ++i) out.values[i] = f(x.values[i]);
  return {std::move(out)};
}

/// f of the elements that broadcasting puts together.
template <class F>
std::vector<Array> combine(const EvalArgs& a, const Array& x, const Array& y, F f) {
  Array out = result(a);
  const auto at_x = broadcast_offsets(a, x.shape, out.shape);
  const auto at_y = broadcast_offsets(a, y.shape, out.shape);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] =
        f(x.values[static_cast<size_t>(at_x[i])], y.values[static_cast<size_t>(at_y[i])]);
  return {std::move(out)};
}

/// f of the first argument and the second, a tensor or a number.
template <class F>
std::vector<Array> combine_operands(const EvalArgs& a, F f) {
  return combine(a, a.array(0), operand(a, 1, a.out_dtype()), f);
}

/// A shape seen around one axis: [outer, size, inner].
struct Lanes {
  int64_t outer, size, inner;
  size_t at(int64_t o, int64_t i, int64_t in) const {
    return static_cast<size_t>((o * size + i) * inner + in);
  }
};
Lanes lanes(const Shape& shape, int64_t axis);

}  // namespace slipway::ops::eval

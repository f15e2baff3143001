// Lowering rows: views, joining, slicing, creation, lookups.
#include <limits>
#include <numeric>

#include "backends/onnx/lower.h"

namespace slipway::onnx {
namespace {

std::vector<int64_t> identity(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Value view(Lower& l) { return l.reshape(l.in(0), l.out().shape); }

Value permute(Lower& l) {
  const int64_t rank = l.in(0).rank();
  std::vector<int64_t> axes;
  for (const int64_t a : l.args().integers(1)) axes.push_back(normalize_axis(a, rank));
  return l.permute(l.in(0), axes);
}

Value transpose(Lower& l) {
  const int64_t rank = l.in(0).rank(), a = l.args().axis(1, rank), b = l.args().axis(2, rank);
  if (a == b) return l.in(0);
  std::vector<int64_t> axes = identity(rank);
  std::swap(axes[static_cast<size_t>(a)], axes[static_cast<size_t>(b)]);
  return l.permute(l.in(0), axes);
}

Value matrix_transpose(Lower& l) {
  return l.in(0).rank() < 2 ? l.in(0) : l.permute(l.in(0), {1, 0});
}

Value unsqueeze(Lower& l) {
  const int64_t axis = normalize_axis(l.args().integer(1), l.in(0).rank() + 1);
  return l.typed("onnx::Unsqueeze", {l.in(0), l.ints({axis})}, l.out());
}

Value squeeze(Lower& l) {
  if (l.in(0).type() == l.out()) return l.in(0);
  return l.typed("onnx::Squeeze", {l.in(0), l.ints({l.args().axis(1, l.in(0).rank())})}, l.out());
}

Value expand(Lower& l) {
  const Value x = l.in(0);
  if (x.type() == l.out()) return x;
  SymShape target = l.out().shape;  // a 1 leaves a size as it is
  const size_t lead = target.size() - x.shape().size();
  for (size_t i = lead; i < target.size(); ++i)
    if (target[i] == x.shape()[i - lead]) target[i] = 1;
  return l.typed("onnx::Expand", {x, l.sizes(target)}, l.out());
}

Value cat(Lower& l) {
  std::vector<Value> parts;
  for (const Value part : l.ins(0))
    if (part.rank() == static_cast<int64_t>(l.out().shape.size()))
      parts.push_back(l.cast(part, l.out().dtype));
  if (parts.size() == 1) return parts[0];
  return l("onnx::Concat", {parts, named("axis", l.args().axis(1, parts[0].rank()))});
}

Value slice(Lower& l) {
  const Value x = l.in(0);
  const int64_t axis = l.args().axis(1, x.rank());
  const Sym size = x.dim(axis);
  const Sym start = l.has(2) ? l.args().sym(2) : Sym(0);
  const Sym end = l.has(3) ? l.args().sym(3) : size;
  const int64_t step = l.args().integer(4);
  const bool to_end = end == size || (end.is_const() && end.value() == Sym::kUnbounded);
  if (start.is_const(0) && to_end && step == 1) return x;
  const Value last = to_end ? l.ints({std::numeric_limits<int64_t>::max()}) : l.size(end);
  return l.typed("onnx::Slice", {x, l.size(start), last, l.ints({axis}), l.ints({step})}, l.out());
}

Value select(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return l("onnx::Gather", {l.in(0), l.operand(2, DType::kI64), named("axis", axis)});
}

Value full(Lower& l) {
  const Value value = l.operand(1, l.out().dtype);
  if (l.out().shape.empty()) return value;
  return l.typed("onnx::Expand", {value, l.sizes(l.out().shape)}, l.out());
}

Value arange(Lower& l) {
  const DType d = l.out().dtype;
  return l.typed("onnx::Range", {l.operand(0, d), l.operand(1, d), l.operand(2, d)}, l.out());
}

Value embedding(Lower& l) { return l("onnx::Gather", {l.in(0), l.in(1), named("axis", 0)}); }

Value index_select(Lower& l) {
  return l("onnx::Gather", {l.in(0), l.in(2), named("axis", l.args().axis(1, l.in(0).rank()))});
}

Value gather(Lower& l) {
  return l("onnx::GatherElements",
           {l.in(0), l.in(2), named("axis", l.args().axis(1, l.in(0).rank()))});
}

/// Writes rows of an axis with ScatterND, which a runtime can do in place. It wants the whole index
/// of each row: one number for every axis up to this one. All but the last do not depend on the
/// rows, so layers that write alike share them.
Value index_copy(Lower& l) {
  const Value self = l.in(0), rows = l.in(2, DType::kI64);
  const int64_t axis = l.args().axis(1, self.rank());
  SymShape grid(self.shape().begin(), self.shape().begin() + axis);
  grid.push_back(rows.dim(0));
  grid.emplace_back(1);
  const auto along = [&](Value numbers, int64_t place) {
    SymShape shape(grid.size(), Sym(1));
    shape[static_cast<size_t>(place)] = numbers.dim(0);
    return l.typed("onnx::Expand", {l.reshape(numbers, shape), l.sizes(grid)}, {DType::kI64, grid});
  };
  const Value zero = l.scalar(0, DType::kI64), one = l.scalar(1, DType::kI64);
  std::vector<Value> index;
  for (int64_t i = 0; i < axis; ++i) {
    const Sym size = self.dim(i);
    const Value end = l.typed("onnx::Squeeze", {l.size(size), l.ints({0})}, {DType::kI64, {}});
    index.push_back(along(l.typed("onnx::Range", {zero, end, one}, {DType::kI64, {size}}), i));
  }
  const auto join = [&](const std::vector<Value>& parts) {
    return l("onnx::Concat", {parts, named("axis", axis + 1)});
  };
  if (index.size() > 1) index = {join(index)};
  index.push_back(along(rows, axis));
  return l("onnx::ScatterND", {self, index.size() > 1 ? join(index) : index[0], l.in(3)});
}

/// With a count of 0 the slice starts at -0, the first position.
Value keep_last(Lower& l) {
  const Value start = l.reshape(l("onnx::Neg", {l.in(1)}), {1});
  return l.typed(
      "onnx::Slice",
      {l.in(0), start, l.ints({std::numeric_limits<int64_t>::max()}), l.ints({1}), l.ints({1})},
      l.out());
}

const LoweringRow kRows[] = {
    {"aten::view", view},
    {"aten::reshape", view},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::t", matrix_transpose},
    {"aten::unsqueeze", unsqueeze},
    {"aten::squeeze.dim", squeeze},
    {"aten::expand", expand},
    {"aten::cat", cat},
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
    {"aten::full", full},
    {"aten::arange.start_step", arange},
    {"aten::embedding", embedding},
    {"aten::index_select", index_select},
    {"aten::gather", gather},
    {"aten::index_copy", index_copy},
    {"slipway::keep_last", keep_last},
};

}  // namespace

std::span<const LoweringRow> shape_rows() { return kRows; }

}  // namespace slipway::onnx

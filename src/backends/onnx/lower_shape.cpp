// Lowering rows: what stretching, counting, lookups and rows written are in ONNX.
#include <limits>

#include "backends/onnx/lower.h"

namespace slipway::onnx {
namespace {

Value expand(Lower& l) {
  const Value x = l.in(0);
  if (x.type() == l.out()) return x;
  SymShape target = l.out().shape;  // a 1 leaves a size as it is
  const size_t lead = target.size() - x.shape().size();
  for (size_t i = lead; i < target.size(); ++i)
    if (target[i] == x.shape()[i - lead]) target[i] = 1;
  return l.typed("onnx::Expand", {x, l.sizes(target)}, l.out());
}

Value arange(Lower& l) {
  const DType d = l.out().dtype;
  return l.typed("onnx::Range", {l.operand(0, d), l.operand(1, d), l.operand(2, d)}, l.out());
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
    {"aten::expand", expand},         {"aten::arange.start_step", arange}, {"aten::gather", gather},
    {"aten::index_copy", index_copy}, {"slipway::keep_last", keep_last},
};

}  // namespace

std::span<const LoweringRow> shape_rows() { return kRows; }

}  // namespace slipway::onnx

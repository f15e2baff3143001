// Lowering rows: views, joining, slicing, creation, lookups.
#include <limits>
#include <numeric>

#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

Value view(Lower& l) { return l.reshape(l.in(0), l.out().shape); }

Value permute(Lower& l) {
  const int64_t rank = l.in(0).rank();
  std::vector<int64_t> axes;
  for (const int64_t a : l.args().integers(1)) axes.push_back(normalize_axis(a, rank));
  return l.permute(l.in(0), axes);
}

Value transpose(Lower& l) {
  const int64_t rank = l.in(0).rank();
  if (rank == 0) return l.in(0);
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(l.args().axis(1, rank))],
            axes[static_cast<size_t>(l.args().axis(2, rank))]);
  return l.permute(l.in(0), axes);
}

Value matrix_transpose(Lower& l) {
  return l.in(0).rank() < 2 ? l.in(0) : l.permute(l.in(0), {1, 0});
}

Value unsqueeze(Lower& l) {
  return l.unsqueeze(l.in(0), normalize_axis(l.args().integer(1), l.in(0).rank() + 1));
}

Value squeeze(Lower& l) {
  if (l.in(0).type() == l.out()) return l.in(0);
  return l.squeeze(l.in(0), l.args().axis(1, l.in(0).rank()));
}

Value expand(Lower& l) { return l.expand(l.in(0), l.out().shape); }

Value cat(Lower& l) {
  std::vector<Value> parts;
  for (const Value part : l.ins(0))
    if (part.rank() == static_cast<int64_t>(l.out().shape.size()))
      parts.push_back(l.cast(part, l.out().dtype));
  return l.concat(parts, l.args().axis(1, parts[0].rank()));
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
  const Value last = to_end ? l.ints({kEnd}) : l.size(end);
  return l.typed("ov::Slice", {x, l.size(start), last, l.ints({step}), l.ints({axis})}, l.out());
}

Value select(Lower& l) {
  return l.gather(l.in(0), l.operand(2, DType::kI64), l.args().axis(1, l.in(0).rank()));
}

Value full(Lower& l) { return l.expand(l.operand(1, l.out().dtype), l.out().shape); }

Value arange(Lower& l) {
  const DType d = l.out().dtype;
  return l.typed("ov::Range",
                 {l.operand(0, d), l.operand(1, d), l.operand(2, d), named("output_type", d)},
                 l.out());
}

Value embedding(Lower& l) { return l.gather(l.in(0), l.in(1), 0); }

Value index_select(Lower& l) {
  return l.gather(l.in(0), l.in(2), l.args().axis(1, l.in(0).rank()));
}

/// OpenVINO wants data of the indices' sizes along the other axes. They are cut by lookups: it
/// takes a Slice before GatherElements away.
Value gather(Lower& l) {
  const Value at = l.in(2), zero = l.scalar(0, DType::kI64), one = l.scalar(1, DType::kI64);
  Value x = l.in(0);
  const int64_t axis = l.args().axis(1, x.rank());
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == axis || x.dim(i) == at.dim(i)) continue;
    const Value end = l.squeeze(l.size(at.dim(i)), 0);
    x = l.gather(x,
                 l.typed("ov::Range", {zero, end, one, named("output_type", DType::kI64)},
                         {DType::kI64, {at.dim(i)}}),
                 i);
  }
  return l("ov::GatherElements", {x, at, named("axis", axis)});
}

Value index_copy(Lower& l) {
  const auto axis = static_cast<double>(l.args().axis(1, l.in(0).rank()));
  return l("ov::ScatterUpdate", {l.in(0), l.in(2), l.in(3), l.scalar(axis, DType::kI64)});
}

/// With a count of 0 the slice starts at -0, the first position.
Value keep_last(Lower& l) {
  const Value start = l.unsqueeze(l("ov::Negative", {l.in(1)}), 0);
  return l.typed("ov::Slice", {l.in(0), start, l.ints({kEnd}), l.ints({1}), l.ints({1})}, l.out());
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

}  // namespace slipway::openvino

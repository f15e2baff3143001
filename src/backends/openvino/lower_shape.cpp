// Lowering rows: what stretching, counting, lookups and rows written are in OpenVINO.
#include <limits>

#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

Value expand(Lower& l) { return l.expand(l.in(0), l.out().shape); }

Value arange(Lower& l) {
  const DType d = l.out().dtype;
  return l.typed("ov::Range",
                 {l.operand(0, d), l.operand(1, d), l.operand(2, d), named("output_type", d)},
                 l.out());
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
    {"aten::expand", expand},         {"aten::arange.start_step", arange}, {"aten::gather", gather},
    {"aten::index_copy", index_copy}, {"slipway::keep_last", keep_last},
};

}  // namespace

std::span<const LoweringRow> shape_rows() { return kRows; }

}  // namespace slipway::openvino

// Follows aranges through shifts, slices and views.
#include "passes/index_range.h"

#include <string_view>

#include "base/lazy.h"

namespace slipway {
namespace {

// A constant of more elements than any position is not looked at.
constexpr int64_t kMaxElements = 1 << 20;

bool is_op(Value v, std::string_view name) {
  return v.node()->kind == NodeKind::kOp && v.node()->op->name() == name;
}

/// The axis of a shape that has all the elements, from the end; 0 when there is one element,
/// nullopt when several axes are longer than 1.
std::optional<int64_t> sole_axis(const SymShape& shape) {
  std::optional<int64_t> axis = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_const(1)) continue;
    if (*axis != 0) return std::nullopt;
    axis = static_cast<int64_t>(i) - static_cast<int64_t>(shape.size());
  }
  return axis;
}

std::optional<IndexRange> range_of_constant(Value v) {
  const Node& node = *v.node();
  const auto axis = sole_axis(v.shape());
  const Sym count = numel(v.shape());
  if (node.data == nullptr || v.dtype() != DType::kI64 || !axis || count.is_const(0) ||
      count.value() > kMaxElements)
    return std::nullopt;
  const Tensor tensor = materialize(*node.data);
  const auto values = tensor.values<int64_t>();
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] - 1 != values[i - 1]) return std::nullopt;
  return IndexRange{values[0], count, *axis};
}

std::optional<IndexRange> range_of_arange(const Args& a, Value v) {
  const auto* start = std::get_if<Sym>(&a[0]);
  const auto* step = std::get_if<Sym>(&a[2]);
  if (start == nullptr || step == nullptr || !step->is_const(1) || v.dtype() != DType::kI64)
    return std::nullopt;
  const Sym count = v.dim(0);
  return IndexRange{*start, count, count.is_const(1) ? 0 : -1};
}

std::optional<IndexRange> shifted(const Args& a, int sign) {
  const auto* by = std::get_if<Sym>(&a[1]);
  if (by == nullptr || a.value(0).dtype() != DType::kI64) return std::nullopt;
  if (a.size() > 2 && a[2] != Arg(Sym(1))) return std::nullopt;  // alpha
  auto range = index_range(a.value(0));
  if (range) range->start = sign > 0 ? range->start + *by : range->start - *by;
  return range;
}

std::optional<IndexRange> sliced(const Args& a, Value v) {
  auto range = index_range(a.value(0));
  const int64_t axis = a.axis(1, v.rank()) - v.rank();
  if (!range || !a.sym(4).is_const(1)) return std::nullopt;
  const Sym start = a.has(2) ? a.sym(2) : Sym(0);
  if (axis != range->axis) return v.dim(axis).is_const(1) ? range : std::nullopt;
  if (start.bounds().lo < 0) return std::nullopt;
  range->start = range->start + start;
  range->count = v.dim(axis);
  return range;
}

}  // namespace

std::optional<IndexRange> index_range(Value v) {
  if (v.node()->kind == NodeKind::kConstant) return range_of_constant(v);
  if (v.node()->kind != NodeKind::kOp) return std::nullopt;
  const Args a = v.node()->arguments();
  if (is_op(v, "aten::arange.start_step")) return range_of_arange(a, v);
  if (is_op(v, "aten::add.Scalar")) return shifted(a, 1);
  if (is_op(v, "aten::sub.Scalar")) return shifted(a, -1);
  if (is_op(v, "aten::slice.Tensor")) return sliced(a, v);
  const bool relabels = is_op(v, "aten::view") || is_op(v, "aten::reshape") ||
                        is_op(v, "aten::unsqueeze") || is_op(v, "aten::squeeze.dim");
  if (!relabels) return std::nullopt;
  auto range = index_range(a.value(0));
  const auto axis = sole_axis(v.shape());
  if (!range || !axis || numel(v.shape()) != range->count) return std::nullopt;
  range->axis = *axis;
  return range;
}

}  // namespace slipway

// Lowering rows: lookups and writes by several indices, scattering, order.
#include <cmath>
#include <limits>

#include "backends/onnx/lower.h"
#include "ir/ops/index_plan.h"
#include "lowering/view_rows.h"

namespace slipway::onnx {
namespace {

/// The index tensors as one: [picked..., how many].
Value stacked(Lower& l, const ops::IndexPlan& plan) {
  const auto axis = static_cast<int64_t>(plan.picked.size());
  std::vector<Value> parts;
  for (const Value index : l.ins(1))
    if (index.defined())
      parts.push_back(l.unsqueeze(l.expand(l.cast(index, DType::kI64), plan.picked), axis));
  return l.concat(parts, axis);
}

Value index(Lower& l) {
  const ops::IndexPlan plan = ops::index_plan(l.args());
  if (plan.axes.size() == 1) {
    const Value at = l.ins(1)[static_cast<size_t>(plan.axes[0])];
    return l.gather(l.in(0), at, plan.axes[0]);
  }
  ValueType type{l.out().dtype, plan.picked};
  for (const int64_t axis : plan.others) type.shape.push_back(l.in(0).dim(axis));
  const Value found =
      l.typed("onnx::GatherND", {l.permute(l.in(0), plan.indexed_first()), stacked(l, plan)}, type);
  return l.permute(found, ops::inverse(plan.picked_first()));
}

Value index_put(Lower& l) {
  const ops::IndexPlan plan = ops::index_plan(l.args());
  const std::vector<int64_t> axes = plan.indexed_first();
  const Value values = l.permute(l.expand(l.in(2), plan.result), plan.picked_first());
  const Value written =
      l("onnx::ScatterND", {l.permute(l.in(0), axes), stacked(l, plan), values,
                            named("reduction", l.args().flag(3) ? "add" : "none")});
  return l.permute(written, ops::inverse(axes));
}

Value scattered(Lower& l, const char* reduction) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return l("onnx::ScatterElements", {l.in(0), l.in(2), lowering::scatter_updates(l),
                                     named("axis", axis), named("reduction", reduction)});
}

/// The number that changes nothing when it meets another.
double neutral(const std::string& how, DType d) {
  if (how == "sum" || how == "prod") return how == "sum" ? 0 : 1;
  const double sign = how == "amax" ? -1 : 1;
  if (is_floating(d)) return sign * std::numeric_limits<double>::infinity();
  const double span =
      std::ldexp(1.0, static_cast<int>(8 * itemsize(d)) - (d == DType::kU8 ? 0 : 1));
  if (how == "amax") return d == DType::kU8 ? 0 : -span;
  return d == DType::kI64 ? 0x1.fffffffffffffp62 : span - 1;
}

/// Where self does not count, what is written to is made neutral first.
Value scatter_reduce(Lower& l) {
  const std::string& how = l.args().text(4);
  const char* reduction = how == "sum"    ? "add"
                          : how == "prod" ? "mul"
                          : how == "amax" ? "max"
                                          : "min";
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  Value base = l.in(0);
  if (!l.args().flag(5)) {
    const DType d = l.out().dtype;
    const Value cleared = l.expand(l.scalar(neutral(how, d), d), l.in(2).shape());
    base = l("onnx::ScatterElements",
             {base, l.in(2), cleared, named("axis", axis), named("reduction", "none")});
  }
  return l("onnx::ScatterElements", {base, l.in(2), lowering::scatter_updates(l),
                                     named("axis", axis), named("reduction", reduction)});
}

/// The dtype that ONNX Runtime orders elements of this dtype in.
DType ordered_as(DType d) {
  if (d == DType::kBF16 || d == DType::kF16) return DType::kF32;
  return is_floating(d) || d == DType::kI64 ? d : DType::kI64;
}

std::vector<Value> top(Lower& l, Sym count, int64_t axis, bool largest) {
  const DType d = ordered_as(l.in(0).dtype());
  std::vector<Value> found = l.typed_all(
      "onnx::TopK",
      {l.in(0, d), l.size(count), named("axis", axis), named("largest", largest ? 1 : 0)},
      {{d, l.out(0).shape}, l.out(1)});
  found[0] = l.cast(found[0], l.out(0).dtype);
  return found;
}

std::vector<Value> topk(Lower& l) {
  return top(l, l.args().sym(1), l.args().axis(2, l.in(0).rank()), l.args().flag(3));
}

std::vector<Value> sort(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return top(l, l.in(0).dim(axis), axis, l.args().flag(2));
}

template <const char* kOp>
Value place(Lower& l) {
  Value x = l.in(0);
  const DType d = x.dtype();
  if (!is_floating(d) || d == DType::kBF16)
    x = l.cast(x, d == DType::kI64 ? DType::kF64 : DType::kF32);
  if (l.has(1) && x.rank() > 0) {
    const int64_t axis = l.args().axis(1, x.rank());
    return l.typed(kOp, {x, named("axis", axis), named("keepdims", l.args().flag(2) ? 1 : 0)},
                   l.out());
  }
  const Value line = l.reshape(x, {numel(x.shape())});
  const Value at = l.typed(kOp, {line, named("axis", 0), named("keepdims", 0)}, {DType::kI64, {}});
  return l.reshape(at, l.out().shape);
}
constexpr char kArgMax[] = "onnx::ArgMax", kArgMin[] = "onnx::ArgMin";

const LoweringRow kRows[] = {
    {"aten::index.Tensor", index},
    {"aten::index_put", index_put},
    {"aten::scatter.value", [](Lower& l) { return scattered(l, "none"); }},
    {"aten::scatter.src", [](Lower& l) { return scattered(l, "none"); }},
    {"aten::scatter_add", [](Lower& l) { return scattered(l, "add"); }},
    {"aten::scatter_reduce.two", scatter_reduce},
    {"aten::topk", nullptr, topk},
    {"aten::sort", nullptr, sort},
    {"aten::argmax", place<kArgMax>},
    {"aten::argmin", place<kArgMin>},
};

}  // namespace

std::span<const LoweringRow> index_rows() { return kRows; }

}  // namespace slipway::onnx

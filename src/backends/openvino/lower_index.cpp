// Lowering rows: lookups and writes by several indices, scattering, order.
#include "backends/openvino/lower.h"
#include "ir/ops/index_plan.h"
#include "lowering/view_rows.h"

namespace slipway::openvino {
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
  if (plan.axes.size() == 1)
    return l.gather(l.in(0), l.ins(1)[static_cast<size_t>(plan.axes[0])], plan.axes[0]);
  ValueType type{l.out().dtype, plan.picked};
  for (const int64_t axis : plan.others) type.shape.push_back(l.in(0).dim(axis));
  const Value found =
      l.typed("ov::GatherND", {l.permute(l.in(0), plan.indexed_first()), stacked(l, plan)}, type);
  return l.permute(found, ops::inverse(plan.picked_first()));
}

Value index_put(Lower& l) {
  const ops::IndexPlan plan = ops::index_plan(l.args());
  const std::vector<int64_t> axes = plan.indexed_first();
  const Value values = l.permute(l.expand(l.in(2), plan.result), plan.picked_first());
  const Value written =
      l("ov::ScatterNDUpdate", {l.permute(l.in(0), axes), stacked(l, plan), values,
                                named("reduction", l.args().flag(3) ? "sum" : "none")});
  return l.permute(written, ops::inverse(axes));
}

Value scattered(Lower& l, const char* reduction) {
  const auto axis = static_cast<double>(l.args().axis(1, l.in(0).rank()));
  return l("ov::ScatterElementsUpdate",
           {l.in(0), l.in(2), lowering::scatter_updates(l), l.scalar(axis, DType::kI64),
            named("reduction", reduction)});
}

Value scatter_reduce(Lower& l) {
  const std::string& reduce = l.args().text(4);
  const auto axis = static_cast<double>(l.args().axis(1, l.in(0).rank()));
  const std::string reduction = reduce == "amax" ? "max" : reduce == "amin" ? "min" : reduce;
  return l("ov::ScatterElementsUpdate",
           {l.in(0), l.in(2), lowering::scatter_updates(l), l.scalar(axis, DType::kI64),
            named("reduction", reduction), named("use_init_val", l.args().flag(5))});
}

std::vector<Value> top(Lower& l, Value x, Value count, int64_t axis, bool largest,
                       const SymShape& shape) {
  return l.typed_all("ov::TopK",
                     {x, count, named("axis", axis), named("mode", largest ? "max" : "min")},
                     {{x.dtype(), shape}, {DType::kI64, shape}});
}

std::vector<Value> topk(Lower& l) {
  const Value count = l.squeeze(l.size(l.args().sym(1)), 0);
  return top(l, l.in(0), count, l.args().axis(2, l.in(0).rank()), l.args().flag(3), l.out().shape);
}

std::vector<Value> sort(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  const Value count = l.squeeze(l.size(l.in(0).dim(axis)), 0);
  return top(l, l.in(0), count, axis, l.args().flag(2), l.out().shape);
}

/// The first place of the largest or smallest element.
Value place(Lower& l, bool largest) {
  const bool whole = !l.has(1) || l.in(0).rank() == 0;
  const Value x = whole ? l.reshape(l.in(0), {numel(l.in(0).shape())}) : l.in(0);
  const int64_t axis = whole ? 0 : l.args().axis(1, x.rank());
  SymShape one = x.shape();
  one[static_cast<size_t>(axis)] = 1;
  const Value at = top(l, x, l.scalar(1, DType::kI64), axis, largest, one)[1];
  return l.reshape(at, l.out().shape);
}

const LoweringRow kRows[] = {
    {"aten::index.Tensor", index},
    {"aten::index_put", index_put},
    {"aten::scatter.value", [](Lower& l) { return scattered(l, "none"); }},
    {"aten::scatter.src", [](Lower& l) { return scattered(l, "none"); }},
    {"aten::scatter_add", [](Lower& l) { return scattered(l, "sum"); }},
    {"aten::scatter_reduce.two", scatter_reduce},
    {"aten::topk", nullptr, topk},
    {"aten::sort", nullptr, sort},
    {"aten::argmax", [](Lower& l) { return place(l, true); }},
    {"aten::argmin", [](Lower& l) { return place(l, false); }},
};

}  // namespace

std::span<const LoweringRow> index_rows() { return kRows; }

}  // namespace slipway::openvino

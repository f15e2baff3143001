// Lowering rows: lookups and writes by several indices, scattering, order.
#include "backends/executorch/lower.h"
#include "lowering/view_rows.h"

namespace slipway::executorch {
namespace {

Value index(Lower& l) { return l.typed("et::index.Tensor_out", {l.in(0), l.ins(1)}, l.out()); }

Value index_put(Lower& l) {
  return l("et::index_put.out", {l.in(0), l.ins(1), l.in(2), l.args().flag(3)});
}

template <const char* kOp>
Value scattered(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return l(kOp, {l.in(0), axis, l.in(2), lowering::scatter_updates(l)});
}

Value scatter_value(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return l("et::scatter.value_out", {l.in(0), axis, l.in(2), l.args()[3]});
}

constexpr char kScatter[] = "et::scatter.src_out", kScatterAdd[] = "et::scatter_add.out";

/// Of the ways to combine only sums have a kernel; lower() refuses the others.
Value scatter_reduce(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  Value base = l.in(0);
  if (!l.args().flag(5)) base = l("et::scatter.value_out", {base, axis, l.in(2), 0});
  return l(kScatterAdd, {base, axis, l.in(2), lowering::scatter_updates(l)});
}

std::vector<Value> top(Lower& l, Sym count, int64_t axis, bool largest) {
  return l.typed_all("et::topk.values", {l.in(0), count, axis, largest, true},
                     {l.out(0), l.out(1)});
}

std::vector<Value> topk(Lower& l) {
  return top(l, l.args().sym(1), l.args().axis(2, l.in(0).rank()), l.args().flag(3));
}

/// Numbers equal values along an axis alike, one after the other: [0, 0, 1, ...] for [5, 5, 7,
/// ...].
Value groups_of(Lower& l, Value sorted, int64_t axis) {
  const Sym size = sorted.dim(axis);
  const auto shape = [&](Sym length) {
    SymShape result = sorted.shape();
    result[static_cast<size_t>(axis)] = length;
    return result;
  };
  const ValueType less{sorted.dtype(), shape(size - 1)};
  const Value differs = l("et::ne.Tensor_out", {l.slice(sorted, axis, 1, size, 1, less),
                                                l.slice(sorted, axis, 0, size - 1, 1, less)});
  const Value first = l.typed("et::full.out", {shape(1), 0}, {DType::kI64, shape(1)});
  const Value steps =
      l.typed("et::cat.out", {std::vector<Value>{first, l.cast(differs, DType::kI64)}, axis},
              {DType::kI64, sorted.shape()});
  return l("et::cumsum.out", {steps, axis});
}

/// The kernel leaves equal values in any order. Sorting (group of equal values, place) as one
/// number gives PyTorch's: the earlier one first.
std::vector<Value> sort(Lower& l) {
  const Value x = l.in(0);
  if (x.rank() == 0) return {x, l.scalar(0, DType::kI64)};
  const int64_t axis = l.args().axis(1, x.rank());
  const Sym size = x.dim(axis);
  const std::vector<Value> any = top(l, size, axis, l.args().flag(2));
  const Value start = l.typed("et::mul.Scalar_out", {groups_of(l, any[0], axis), size}, l.out(1));
  const Value keys = l("et::add.out", {start, any[1]});
  const Value ordered =
      l.typed_all("et::topk.values", {keys, size, axis, false, true}, {l.out(1), l.out(1)})[0];
  return {any[0], l("et::sub.out", {ordered, start})};
}

template <const char* kOp>
Value place(Lower& l) {
  const bool whole = !l.has(1) || l.in(0).rank() == 0;
  const Value x = whole ? l.reshape(l.in(0), {numel(l.in(0).shape())}) : l.in(0);
  const int64_t axis = whole ? 0 : l.args().axis(1, x.rank());
  SymShape kept = x.shape();
  kept[static_cast<size_t>(axis)] = 1;
  return l.reshape(l.typed(kOp, {x, axis, true}, {DType::kI64, kept}), l.out().shape);
}
constexpr char kArgMax[] = "et::argmax.out", kArgMin[] = "et::argmin.out";

const LoweringRow kRows[] = {
    {"aten::index.Tensor", index},
    {"aten::index_put", index_put},
    {"aten::scatter.value", scatter_value},
    {"aten::scatter.src", scattered<kScatter>},
    {"aten::scatter_add", scattered<kScatterAdd>},
    {"aten::scatter_reduce.two", scatter_reduce},
    {"aten::topk", nullptr, topk},
    {"aten::sort", nullptr, sort},
    {"aten::argmax", place<kArgMax>},
    {"aten::argmin", place<kArgMin>},
};

}  // namespace

std::span<const LoweringRow> index_rows() { return kRows; }

}  // namespace slipway::executorch

// Lowering rows: products, norms, attention.
#include <fmt/format.h>

#include "backends/executorch/lower.h"
#include "backends/executorch/lower_state.h"

namespace slipway::executorch {
namespace {

Value linear(Lower& l) {
  const Value x = l.in(0);
  if (x.rank() > 1) return l.typed("et::linear.out", {x, l.in(1), l.in(2)}, l.out());
  ValueType row = l.out();
  row.shape.insert(row.shape.begin(), 1);
  return l.squeeze(l.typed("et::linear.out", {l.unsqueeze(x, 0), l.in(1), l.in(2)}, row), 0);
}

Value matmul(Lower& l) { return l.matmul(l.in(0), l.in(1)); }

Value layer_norm(Lower& l) {
  const Value x = l.in(0);
  const std::vector<Sym>& over = l.args().syms(1);
  ValueType row = x.type();
  for (size_t i = row.shape.size() - over.size(); i < row.shape.size(); ++i) row.shape[i] = 1;
  return l.typed_all("et::native_layer_norm.out", {x, over, l.in(2), l.in(3), l.args().number(4)},
                     {l.out(), row, row})[0];
}

/// 0 where attention goes, else the lowest float32, which absorbs the score: a row that is masked
/// everywhere is the plain average and stays finite. In the layout of the folded scores, so that
/// the heads of a group see it as their own. Layers with one mask share it.
Value folded_bias(Lower& l, const SymShape& scores, int64_t groups) {
  const Value mask = l.in(3);
  const Value bias = l("et::where.self_out", {mask, l.scalar(0.0, DType::kF32),
                                              l.scalar(-3.4028234663852886e38, DType::kF32)});
  if (groups == 1) return bias;
  SymShape shape = bias.shape();
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  const Value whole = l.reshape(bias, shape);
  const Sym queries = floordiv(scores[2], groups);
  if (!shape[1].is_const(1))
    return l.reshape(l.expand(whole, {shape[0], scores[1] * groups, queries, shape[3]}),
                     {shape[0], scores[1], scores[2], shape[3]});
  if (shape[2].is_const(1)) return whole;
  const std::vector<Value> copies(static_cast<size_t>(groups), whole);
  return l.concat(copies, 2);
}

/// softmax(scale q k' + bias) v. The group of query heads that share a key-value head is folded
/// into the query length, so that keys and values are not copied for each.
Value attention(Lower& l) {
  const Value q = l.in(0), k = l.in(1), v = l.in(2);
  const DType d = q.dtype();
  const SymShape qs = q.shape(), ks = k.shape();
  const int64_t groups = qs[1].value() / ks[1].value();
  const Value scaled = l("et::mul.out", {q, l.scalar(l.args().number(4), d)});
  const Value folded = l.reshape(scaled, {qs[0], ks[1], qs[2] * groups, qs[3]});
  Value scores = l.cast(l.matmul_transposed(folded, k), DType::kF32);
  if (const double cap = l.args().number(5); cap > 0) {
    const Value limit = l.scalar(cap, DType::kF32), inverse = l.scalar(1 / cap, DType::kF32);
    scores = l("et::tanh.out", {l("et::mul.out", {scores, inverse})});
    scores = l("et::mul.out", {scores, limit});
  }
  if (l.has(3)) scores = l("et::add.out", {scores, folded_bias(l, scores.shape(), groups)});
  const Value weights = l.cast(l("et::_softmax.out", {scores, 3, false}), d);
  return l.reshape(l.matmul(weights, v), l.out().shape);
}

/// The group of each row: how many offsets it has passed, int64 [rows].
Value group_of_rows(Lower& l, Value ends, Sym rows) {
  const Value places = l.typed("et::arange.start_out", {0, rows, 1}, {DType::kI64, {rows}});
  const Value passed = l("et::ge.Tensor_out", {l.unsqueeze(places, 1), l.unsqueeze(ends, 0)});
  return l.typed("et::sum.IntList_out", {l.cast(passed, DType::kI64), std::vector<Sym>{1}},
                 {DType::kI64, {rows}});
}

/// Each row with the matrix of its group, gathered: one product of a stack of matrices. For fewer
/// rows than groups, as in a decode step: most groups have none.
Value gathered_groups(Lower& l, Value x, Value groups, int64_t count) {
  const Value weight = l.in(1);
  const Node& node = *weight.node();
  const bool turned = node.kind == NodeKind::kOp && node.op->name() == "et::permute_copy.out" &&
                      node.arguments().integers(1) == std::vector<int64_t>{0, 2, 1};
  const Value stored = turned ? node.arguments().value(0) : weight;
  const Value last = l("et::clamp.out", {groups, none(), count - 1});
  const Value own = l.gather(stored, last, 0), row = l.unsqueeze(x, 1);
  return l.squeeze(turned ? l.matmul_transposed(row, own) : l.matmul(row, own), 1);
}

/// Every product over all rows, kept where the row is of the group.
Value all_products(Lower& l, Value x, Value groups, int64_t count) {
  const Value weight = l.in(1), column = l.unsqueeze(groups, 1);
  Value out;
  for (int64_t g = 0; g < count; ++g) {
    Value matrix = l.entry(weight, g);
    if (!matrix.defined())
      matrix = l.typed("et::select_copy.int_out", {weight, 0, g},
                       {weight.dtype(), {weight.dim(1), weight.dim(2)}});
    const Value product = l.matmul(x, matrix);
    if (!out.defined()) {
      out = product;
      continue;
    }
    const Value own =
        l("et::eq.Tensor_out", {column, l.scalar(static_cast<double>(g), DType::kI64)});
    out = l("et::where.self_out", {own, product, out});
  }
  return out;
}

/// Rows from the last offset on are zero.
Value grouped_mm(Lower& l) {
  const Value x = l.in(0), ends = l.in(2, DType::kI64);
  const Sym rows = x.dim(0);
  const int64_t count = ends.dim(0).value();
  const Value groups = group_of_rows(l, ends, rows);
  const Value product = rows.bounds().hi <= count ? gathered_groups(l, x, groups, count)
                                                  : all_products(l, x, groups, count);
  const Value used = l("et::lt.Tensor_out",
                       {l.unsqueeze(groups, 1), l.scalar(static_cast<double>(count), DType::kI64)});
  return l("et::where.self_out", {used, product, l.scalar(0.0, x.dtype())});
}

const LoweringRow kRows[] = {
    {"et::linear_quantized",
     [](Lower& l) {
       return l.typed("et::linear_quantized",
                      {l.in(0), l.in(1), l.in(2), l.in(3), named("dynamic", l.args().flag(4))},
                      l.out());
     }},
    {"et::linear_int8",
     [](Lower& l) {
       return l.typed("et::linear_int8",
                      {l.in(0), l.in(1), l.in(2), l.in(3), l.in(4), OpArg(l.args()[5])}, l.out());
     }},
    {"et::round_to",
     [](Lower& l) {
       return l.typed("et::round_to",
                      {l.in(0), l.args().number(1), l.args().integer(2), l.args().flag(3)},
                      l.out());
     }},
    {"aten::linear", linear},
    {"aten::matmul", matmul},
    {"aten::layer_norm", layer_norm},
    {"slipway::attention", attention},
    {"slipway::grouped_mm", grouped_mm},
};

}  // namespace

std::span<const LoweringRow> nn_rows() { return kRows; }

}  // namespace slipway::executorch

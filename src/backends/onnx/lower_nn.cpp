// Lowering rows: products, norms, attention.
#include "backends/onnx/lower.h"

namespace slipway::onnx {
namespace {

Value linear(Lower& l) {
  const Value product = l.typed("onnx::MatMul", {l.in(0), l.transposed_weight(1)}, l.out());
  return l.has(2) ? l("onnx::Add", {product, l.in(2)}) : product;
}

Value layer_norm(Lower& l) {
  const auto over = static_cast<int64_t>(l.args().syms(1).size());
  const DType d = l.out().dtype;
  const Value scale = l.has(2) ? l.in(2) : l.scalar(1.0, d);
  return l("onnx::LayerNormalization",
           {l.in(0), scale, l.in(3), named("axis", -over), named("epsilon", l.args().number(4))});
}

/// Written as x / sqrt(mean(x^2) + eps): the form that ONNX Runtime fuses.
Value rms_norm(Lower& l) {
  const Value x = l.in(0, DType::kF32);
  ValueType reduced = x.type();
  reduced.shape.back() = 1;
  const Value square = l("onnx::Pow", {x, l.scalar(2.0, DType::kF32)});
  const Value mean = l.typed("onnx::ReduceMean", {square, l.ints({-1})}, reduced);
  const Value root =
      l("onnx::Sqrt", {l("onnx::Add", {mean, l.scalar(l.args().number(2), DType::kF32)})});
  const Value normed = l.cast(l("onnx::Div", {x, root}), l.out().dtype);
  Value weight = l.in(1);
  if (l.args().flag(3)) weight = l("onnx::Add", {weight, l.scalar(1.0, weight.dtype())});
  return l("onnx::Mul", {normed, weight});
}

/// softmax(scale q k' + bias) v. The group of query heads that share a key-value head is folded
/// into the query length, so that keys and values are not copied. The mask becomes a bias once for
/// all layers: 0 or the lowest float32, which absorbs the score, so a row that is masked everywhere
/// is the plain average and stays finite.
Value attention(Lower& l) {
  const Value q = l.in(0), k = l.in(1), v = l.in(2);
  const SymShape qs = q.shape(), ks = k.shape();
  const int64_t groups = qs[1].value() / ks[1].value();
  const Value folded = groups > 1 ? l.reshape(q, {qs[0], ks[1], qs[2] * groups, qs[3]}) : q;
  Value scores = l("onnx::MatMul", {folded, l.permute(k, {0, 1, 3, 2})});
  scores = l("onnx::Mul", {scores, l.scalar(l.args().number(4), scores.dtype())});
  if (groups > 1) scores = l.reshape(scores, {qs[0], qs[1], qs[2], ks[2]});
  scores = l.cast(scores, DType::kF32);
  if (const double cap = l.args().number(5); cap > 0) {
    const Value limit = l.scalar(cap, DType::kF32);
    scores = l("onnx::Mul", {l("onnx::Tanh", {l("onnx::Div", {scores, limit})}), limit});
  }
  if (l.has(3)) {
    const Value bias = l("onnx::Where", {l.in(3), l.scalar(0.0, DType::kF32),
                                         l.scalar(-3.4028234663852886e38, DType::kF32)});
    scores = l("onnx::Add", {scores, bias});
  }
  Value weights = l.cast(l("onnx::Softmax", {scores, named("axis", -1)}), q.dtype());
  if (groups > 1) weights = l.reshape(weights, {qs[0], ks[1], qs[2] * groups, ks[2]});
  return l.reshape(l("onnx::MatMul", {weights, v}), l.out().shape);
}

/// One product for every group: its rows are cut out between two offsets. How many there are is
/// not known from shapes, so those sizes have a name that occurs nowhere else.
Value grouped_mm(Lower& l) {
  const Value x = l.in(0), ends = l.in(2, DType::kI64);
  const DType d = x.dtype();
  const Sym rows = Sym::symbol("rows_of_group"), width = l.out().shape[1];
  const Value zero = l.ints({0});
  const int64_t groups = ends.dim(0).value();
  std::vector<Value> parts;
  Value start = zero;
  for (int64_t g = 0; g < groups; ++g) {
    const Value end = l.typed(
        "onnx::Slice", {ends, l.ints({g}), l.ints({g + 1}), zero, l.ints({1})}, {DType::kI64, {1}});
    const Value part =
        l.typed("onnx::Slice", {x, start, end, zero, l.ints({1})}, {d, {rows, x.dim(1)}});
    parts.push_back(l("onnx::MatMul", {part, l.group_matrix(1, g)}));
    start = end;
  }
  const Value left = l("onnx::Sub", {l.size(x.dim(0)), start});
  const Value shape =
      l("onnx::Concat", {std::vector<Value>{left, l.size(width)}, named("axis", 0)});
  parts.push_back(l.typed("onnx::Expand", {l.scalar(0.0, d), shape}, {d, {rows, width}}));
  return l.typed("onnx::Concat", {parts, named("axis", 0)}, l.out());
}

const LoweringRow kRows[] = {
    {"aten::linear", linear},
    {"aten::matmul",
     [](Lower& l) {
       return l.typed("onnx::MatMul", {l.in(0), l.in(1)}, l.out());  // vectors too
     }},
    {"aten::layer_norm", layer_norm},
    {"slipway::rms_norm", rms_norm},
    {"slipway::attention", attention},
    {"slipway::grouped_mm", grouped_mm},
};

}  // namespace

std::span<const LoweringRow> nn_rows() { return kRows; }

}  // namespace slipway::onnx

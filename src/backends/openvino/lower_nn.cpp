// Lowering rows: products, norms, rotation, attention, in the shapes that plug-ins fuse.
#include <cmath>
#include <limits>

#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

Value linear(Lower& l) {
  const Value product =
      l.typed("ov::MatMul", {l.in(0), l.in(1), named("transpose_b", true)}, l.out());
  return l.has(2) ? l("ov::Add", {product, l.in(2)}) : product;
}

Value layer_norm(Lower& l) {
  std::vector<int64_t> axes;
  for (auto n = static_cast<int64_t>(l.args().syms(1).size()); n > 0; --n) axes.push_back(-n);
  Value x = l("ov::MVN", {l.in(0), l.ints(axes), named("eps", l.args().number(4))});
  if (l.has(2)) x = l("ov::Multiply", {x, l.in(2)});
  return l.has(3) ? l("ov::Add", {x, l.in(3)}) : x;
}

/// Written as x (1 / sqrt(mean(x^2) + eps)) w: the form that plug-ins fuse to RMS.
Value rms_norm(Lower& l) {
  const Value x = l.in(0);
  ValueType reduced = x.type();
  reduced.shape.back() = 1;
  const Value square = l("ov::Power", {x, l.scalar(2.0, x.dtype())});
  const Value mean =
      l.typed("ov::ReduceMean", {square, l.ints({-1}), named("keep_dims", true)}, reduced);
  const Value root = l("ov::Sqrt", {l("ov::Add", {mean, l.scalar(l.args().number(2), x.dtype())})});
  const Value normed = l("ov::Multiply", {x, l("ov::Divide", {l.scalar(1.0, x.dtype()), root})});
  Value weight = l.in(1);
  if (l.args().flag(3)) weight = l("ov::Add", {weight, l.scalar(1.0, weight.dtype())});
  return l("ov::Multiply", {normed, weight});
}

/// (x1, x2) -> x cos + (-x2, x1) sin, with the halves' angles written out: the form that plug-ins
/// fuse to RoPE.
Value rotate_halves(Lower& l, Value x, Value cos, Value sin) {
  const int64_t half = cos.dim(2).value();
  const auto angles = [&](Value v) { return l.unsqueeze(l.concat({v, v}, 2), 1); };
  const Value minus = l("ov::Multiply", {l.slice(x, 3, half, 2 * half), l.scalar(-1.0, x.dtype())});
  const std::vector<Value> halves = {minus, l.slice(x, 3, 0, half)};
  const Value turned = l("ov::Concat", {halves, named("axis", -1)});
  return l("ov::Add",
           {l("ov::Multiply", {x, angles(cos)}), l("ov::Multiply", {turned, angles(sin)})});
}

/// The same with neighbours forming the pairs.
Value rotate_neighbours(Lower& l, Value x, Value cos, Value sin) {
  SymShape pairs = x.shape();
  pairs.back() = cos.dim(2);
  pairs.emplace_back(2);
  const Value split = l.reshape(x, pairs);
  const Value x1 = l.gather(split, l.scalar(0, DType::kI64), 4);
  const Value x2 = l.gather(split, l.scalar(1, DType::kI64), 4);
  const Value c = l.unsqueeze(cos, 1), s = l.unsqueeze(sin, 1);
  const auto times = [&](Value a, Value b) { return l("ov::Multiply", {a, b}); };
  const Value y1 = l("ov::Subtract", {times(x1, c), times(x2, s)});
  const Value y2 = l("ov::Add", {times(x2, c), times(x1, s)});
  return l.reshape(l.concat({l.unsqueeze(y1, 4), l.unsqueeze(y2, 4)}, 4), x.shape());
}

Value rotary(Lower& l) {
  const Value x = l.in(0), cos = l.in(1, x.dtype()), sin = l.in(2, x.dtype());
  const int64_t size = 2 * cos.dim(2).value(), head = x.dim(3).value();
  const Value part = size < head ? l.slice(x, 3, 0, size) : x;
  const Value y =
      l.args().flag(3) ? rotate_neighbours(l, part, cos, sin) : rotate_halves(l, part, cos, sin);
  if (size == head) return y;
  const std::vector<Value> parts = {y, l.slice(x, 3, size, head)};
  return l("ov::Concat", {parts, named("axis", -1)});
}

/// Each key-value head once for every query head that it serves: plug-ins see through this, where
/// the Broadcast goes both ways.
Value repeated(Lower& l, Value x, int64_t groups) {
  if (groups == 1) return x;
  const SymShape s = x.shape();
  const Value wide =
      l.typed("ov::Broadcast",
              {l.unsqueeze(x, 2), l.ints({1, 1, groups, 1, 1}), named("mode", "bidirectional")},
              {x.dtype(), {s[0], s[1], groups, s[2], s[3]}});
  return l.reshape(wide, {s[0], s[1] * groups, s[2], s[3]});
}

/// 0 where attention goes, else the lowest float32, which absorbs the score: a row that is masked
/// everywhere is the plain average. A bool mask would make such a row NaN.
Value bias_of(Lower& l, Value mask) {
  return l("ov::Select",
           {mask, l.scalar(0.0, DType::kF32), l.scalar(-3.4028234663852886e38, DType::kF32)});
}

/// Query i of n stands at slot total - n + i and sees slots that padding keeps, up to its own. A
/// window is written as products in the order, with a Broadcast and a Slice behind them, that
/// OpenVINO's transformation to paged attention knows a window by; any other form loses it there.
Value causal_mask(Lower& l) {
  const Sym total = l.args().type(0).shape[1], count = l.args().sym(1);
  const auto range = [&](Sym start) {
    const Value begin = l.squeeze(l.size(start), 0), end = l.squeeze(l.size(total), 0);
    return l.typed("ov::Range",
                   {begin, end, l.scalar(1, DType::kI64), named("output_type", DType::kI64)},
                   {DType::kI64, {total - start}});
  };
  const Value keys = l.unsqueeze(range(0), 0), queries = l.unsqueeze(range(total - count), 1);
  const Value causal = l("ov::LessEqual", {keys, queries});
  const Value kept = l.unsqueeze(l.unsqueeze(l.in(0, DType::kBool), 1), 1);
  if (!l.has(2)) return l("ov::LogicalAnd", {l.unsqueeze(l.unsqueeze(causal, 0), 0), kept});
  const auto before = -static_cast<double>(l.args().integer(2));
  const auto both = [&](Value a, Value b) { return l("ov::BitwiseAnd", {a, b}); };
  const Value inside =
      l("ov::Greater", {keys, l("ov::Add", {queries, l.scalar(before, DType::kI64)})});
  const Value seen = both(both(causal, both(both(causal, inside), kept)), kept);
  return l.typed("ov::Broadcast", {seen, l.sizes(seen.shape()), named("mode", "bidirectional")},
                 seen.type());
}

/// softmax(cap tanh(scale q k' / cap) + bias) v.
Value capped_attention(Lower& l, Value q, Value k, Value v, double scale, double cap) {
  const DType d = q.dtype();
  const SymShape scores_shape = {q.dim(0), q.dim(1), q.dim(2), k.dim(2)};
  Value scores = l.typed("ov::MatMul", {q, k, named("transpose_b", true)}, {d, scores_shape});
  scores = l("ov::Multiply", {scores, l.scalar(scale / cap, d)});
  scores = l("ov::Multiply", {l("ov::Tanh", {scores}), l.scalar(cap, d)});
  if (l.has(3)) scores = l("ov::Add", {scores, l.cast(bias_of(l, l.in(3)), d)});
  return l.typed("ov::MatMul", {l("ov::SoftMax", {scores, named("axis", -1)}), v}, l.out());
}

bool has_window(Lower& l) {
  if (!l.has(3)) return false;
  const Node* mask = l.args().value(3).node();
  return mask->kind == NodeKind::kOp && mask->op->name() == "slipway::causal_mask" &&
         mask->arguments().has(2);
}

Value attention(Lower& l) {
  const Value q = l.in(0);
  const int64_t groups = q.dim(1).value() / l.in(1).dim(1).value();
  const Value k = repeated(l, l.in(1), groups), v = repeated(l, l.in(2), groups);
  const double scale = l.args().number(4);
  if (const double cap = l.args().number(5); cap > 0)
    return capped_attention(l, q, k, v, scale, cap);
  Value mask = l.has(3) ? l.cast(bias_of(l, l.in(3)), q.dtype()) : Value();
  if (has_window(l)) mask = l.cut(mask, 3, l.ints({0}), l.ints({kEnd}), 1, mask.type());
  const bool usual = q.dim(3).is_const() &&
                     std::fabs(scale * std::sqrt(static_cast<double>(q.dim(3).value())) - 1) < 1e-9;
  if (usual) return l("ov::ScaledDotProductAttention", {q, k, v, mask});
  if (!mask.defined()) mask = l.scalar(0.0, q.dtype());
  return l("ov::ScaledDotProductAttention", {q, k, v, mask, l.scalar(scale, q.dtype())});
}

/// PyTorch's own: the causal alignment counts from the first query, and a row that nothing is
/// visible in gives zeros.
Value dot_product_attention(Lower& l) {
  Value q = l.in(0), k = l.in(1), v = l.in(2);
  const DType d = q.dtype();
  const bool batched = q.rank() == 4;
  if (!batched) {
    q = l.unsqueeze(q, 0);
    k = l.unsqueeze(k, 0);
    v = l.unsqueeze(v, 0);
  }
  const int64_t groups = q.dim(1) == k.dim(1) ? 1 : q.dim(1).value() / k.dim(1).value();
  k = repeated(l, k, groups);
  v = repeated(l, v, groups);
  Value bias;
  if (l.has(3)) {
    const Value lowest = l.scalar(-3.4028234663852886e38, DType::kF32);
    bias = l.in(3).dtype() == DType::kBool ? bias_of(l, l.in(3))
                                           : l("ov::Maximum", {l.in(3, DType::kF32), lowest});
    if (!batched && bias.rank() == 3) bias = l.unsqueeze(bias, 0);
  }
  Value mask = bias.defined() ? l.cast(bias, d) : Value(), scale;
  if (l.has(6)) {
    if (!mask.defined()) mask = l.scalar(0.0, d);
    scale = l.scalar(l.args().number(6), d);
  }
  Value y =
      l("ov::ScaledDotProductAttention", {q, k, v, mask, scale, named("causal", l.args().flag(5))});
  if (bias.defined()) {
    ValueType top{DType::kF32, bias.shape()};
    top.shape.back() = 1;
    const Value largest =
        l.typed("ov::ReduceMax", {bias, l.ints({-1}), named("keep_dims", true)}, top);
    const Value seen = l("ov::Greater", {largest, l.scalar(-3.4028234663852886e38, DType::kF32)});
    y = l("ov::Select", {seen, y, l.scalar(0.0, d)});
  }
  return batched ? y : l.squeeze(y, 0);
}

const LoweringRow kRows[] = {
    {"aten::linear", linear},
    {"aten::matmul",
     [](Lower& l) {
       return l.typed("ov::MatMul", {l.in(0), l.in(1)}, l.out());  // vectors too
     }},
    {"aten::layer_norm", layer_norm},
    {"aten::scaled_dot_product_attention", dot_product_attention},
    {"slipway::causal_mask", causal_mask},
    {"slipway::rms_norm", rms_norm},
    {"slipway::rotary_embedding", rotary},
    {"slipway::attention", attention},
};

}  // namespace

std::span<const LoweringRow> nn_rows() { return kRows; }

}  // namespace slipway::openvino

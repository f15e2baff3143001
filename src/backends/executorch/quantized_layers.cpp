// Finds linear layers of quantized graphs.
#include "backends/executorch/quantized_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "backends/executorch/kernels.h"
#include "backends/executorch/nibbles.h"
#include "checkpoint/expr.h"
#include "passes/renaming.h"

namespace slipway::executorch {
namespace {

constexpr std::string_view kTorch = "quantized_decomposed::", kAffine = "torchao::";
constexpr int64_t kSmallestGroup = 32;
constexpr size_t kMostAxes = 6;

/// Why a layer stays as it is.
struct Refused {
  std::string why;
};

/// The name of a node's op without the libraries' namespaces; "" for other nodes.
std::string_view kind_of(const Node* node) {
  if (node->kind != NodeKind::kOp) return "";
  const std::string_view name = node->op->name();
  for (const std::string_view space : {kTorch, kAffine})
    if (name.starts_with(space)) return name.substr(space.size());
  return "";
}

bool is_stored(Value v) {
  const Node* node = v.node();
  return (node->kind == NodeKind::kWeight || node->kind == NodeKind::kConstant) &&
         node->data != nullptr;
}

/// Whether a zero point that may be None is 0 everywhere.
bool is_zero(Value zeros) {
  if (!zeros.defined()) return true;
  if (!is_stored(zeros)) return false;
  const Tensor values = materialize(*zeros.node()->data);
  return std::all_of(values.data(), values.data() + values.nbytes(),
                     [](std::byte b) { return b == std::byte{0}; });
}

/// A stored weight with its scales: one a row, or one a group of a row.
struct Weight {
  Node* elements;
  Node* scales;
  int64_t group;  ///< elements that share a scale; all of a row where there are no groups
  double low, high;
};

/// What a dequantizing op's arguments say: the scales and behind them the zero points, and the
/// range from `low` on.
Weight stored_weight(const Args& a, size_t scales, size_t low, int64_t group) {
  if (!is_stored(a.value(0)) || !is_stored(a.value(scales)))
    throw Refused{"the weight is not static"};
  if (a.type(0).dtype != DType::kI8) throw Refused{"the weight is not int8"};
  if (!is_zero(a.optional(scales + 1))) throw Refused{"the weight's zero point is not 0"};
  return {a.value(0).node(), a.value(scales).node(), group, a.has(low) ? a.number(low) : -128,
          a.has(low + 1) ? a.number(low + 1) : 127};
}

/// The stored weight behind a layer's; nullopt where it is not dequantized.
std::optional<Weight> weight_of(Value v) {
  const std::string_view kind = kind_of(v.node());
  if (!kind.starts_with("dequantize")) return std::nullopt;
  const Args a = v.node()->arguments();
  const SymShape& shape = a.type(0).shape;
  if (v.dtype() != DType::kF32) throw Refused{"the weight is not dequantized to float32"};
  if (shape.size() != 2 || !shape[0].is_const() || !shape[1].is_const())
    throw Refused{"the weight is no matrix"};
  const int64_t columns = shape[1].value();
  if (kind == "dequantize_per_channel") {
    if (a.axis(3, 2) != 0) throw Refused{"the weight's scales are not one an output"};
    return stored_weight(a, 1, 4, columns);
  }
  if (kind == "dequantize_per_channel_group")
    return stored_weight(a, 1, 3, std::min(a.integer(6), columns));
  if (kind == "dequantize_affine") {
    const std::vector<int64_t> block = a.integers(1);
    if (block[0] != 1) throw Refused{"the weight's scales are not one an output"};
    return stored_weight(a, 2, 5, block[1]);
  }
  throw Refused{"the weight has one scale"};
}

/// Whether both read the outputs 0 and 1 of one node as scale and zero point.
const Node* chosen_by(Value scale, Value zero) {
  return scale.node() == zero.node() && scale.index() == 0 && zero.index() == 1 ? scale.node()
                                                                                : nullptr;
}

/// Arguments of quantizing and dequantizing ops: where their parameters and range are.
struct Places {
  size_t scale, low;
};
Places places_of(std::string_view kind) {
  return kind.ends_with("affine") ? Places{2, 5} : Places{1, 3};
}

/// Whether parameters are for int8 over its whole range, asymmetric, for a tensor or each row.
bool is_asymmetric(const Node& choose) {
  const std::string_view kind = kind_of(&choose);
  const Args a = choose.arguments();
  if (kind == "choose_qparams.tensor") return a.integer(1) == -128 && a.integer(2) == 127;
  if (kind.ends_with("choose_qparams_per_token_asymmetric") ||
      kind.ends_with("choose_qparams_per_token_asymmetric_impl"))
    return a.dtype(1) == DType::kI8;
  if (kind != "choose_qparams_affine" || a.text(1) != "ASYMMETRIC") return false;
  if (a.dtype(3) != DType::kI8) return false;
  const std::vector<Sym>& block = a.syms(2);
  for (size_t i = 0; i + 1 < block.size(); ++i)
    if (!block[i].is_const(1)) return false;
  return block.back() == a.type(0).shape.back() && (!a.has(4) || a.number(4) == -128) &&
         (!a.has(5) || a.number(5) == 127);
}

/// What is quantized while it runs and dequantized again before the layer. Undefined where the
/// layer's input is something else.
Value dynamic_input(Value v) {
  const Node* dequantize = v.node();
  const std::string_view kind = kind_of(dequantize);
  if (!kind.starts_with("dequantize")) return {};
  const Args d = dequantize->arguments();
  const Node* quantize = d.value(0).node();
  const std::string_view other = kind_of(quantize);
  if (other.empty() || other != kind.substr(2)) return {};
  const Args q = quantize->arguments();
  const Places at = places_of(kind);
  for (const size_t i : {at.scale, at.scale + 1})
    if (i >= q.size() || !std::holds_alternative<Value>(q[i]) || d[i] != q[i]) return {};
  const Node* choose = chosen_by(q.value(at.scale), q.value(at.scale + 1));
  if (choose == nullptr || !kind_of(choose).starts_with("choose_qparams")) return {};
  if (choose->arguments().value(0) != q.value(0) || v.dtype() != DType::kF32 ||
      q.type(0).dtype != DType::kF32)
    return {};
  if (!is_asymmetric(*choose)) throw Refused{"the input is not quantized asymmetrically to int8"};
  return q.value(0);
}

/// Quantized by numbers and dequantized by the same: parameters of et::round_to.
struct Rounded {
  Value x;
  double scale;
  int64_t zero;
  bool is_signed;
};
std::optional<Rounded> rounded(const Node& node) {
  if (kind_of(&node) != "dequantize_per_tensor") return std::nullopt;
  const Args d = node.arguments();
  const Node* quantize = d.value(0).node();
  if (kind_of(quantize) != "quantize_per_tensor") return std::nullopt;
  const Args q = quantize->arguments();
  const bool is_signed = q.dtype(5) == DType::kI8;
  if (!is_signed && q.dtype(5) != DType::kU8) return std::nullopt;
  const int64_t low = is_signed ? -128 : 0;
  if (q.integer(3) != low || q.integer(4) != low + 255) return std::nullopt;
  if (d.number(1) != q.number(1) || d.integer(2) != q.integer(2)) return std::nullopt;
  const ValueType& x = q.type(0);
  if (x.dtype != DType::kF32 || node.types[0].dtype != DType::kF32 || x.shape.empty() ||
      x.shape.size() > kMostAxes)
    return std::nullopt;
  return Rounded{q.value(0), q.number(1), q.integer(2), is_signed};
}

bool is_op(const Node* node, std::initializer_list<std::string_view> names) {
  return node->kind == NodeKind::kOp && std::ranges::count(names, node->op->name()) > 0;
}

/// What a value is a view of.
Value unviewed(Value v) {
  while (is_op(v.node(), {"aten::view", "aten::reshape"})) v = v.node()->arguments().value(0);
  return v;
}

/// The matrix that a node turns around; undefined for other nodes.
Value turned_matrix(const Node* node) {
  if (!is_op(node, {"aten::t", "aten::transpose.int", "aten::permute"})) return {};
  const Args a = node->arguments();
  if (a.type(0).shape.size() != 2) return {};
  const bool turns =
      is_op(node, {"aten::t"}) ||
      (is_op(node, {"aten::transpose.int"}) && a.axis(1, 2) != a.axis(2, 2)) ||
      (is_op(node, {"aten::permute"}) && a.integers(1) == std::vector<int64_t>{1, 0});
  return turns ? a.value(0) : Value();
}

/// x w' with a stored int8 weight, before it is multiplied by its scales: how torchao writes layers
/// of which only the weight is quantized.
struct Scaled {
  Value x;
  Weight weight;
};
std::optional<Scaled> scaled(const Node& node) {
  if (!is_op(&node, {"aten::mul.Tensor"})) return std::nullopt;
  const Args a = node.arguments();
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Node* product = a.value(i).node();
    const Value scales = unviewed(a.value(1 - i));
    if (!is_op(product, {"aten::matmul"}) || !is_stored(scales)) continue;
    const Args p = product->arguments();
    const Node* wide = p.value(1).node();
    if (!is_op(wide, {"aten::_to_copy"})) continue;
    const Value weight = turned_matrix(wide->arguments().value(0).node());
    if (!weight.defined() || !is_stored(weight) || weight.dtype() != DType::kI8) continue;
    const Sym outputs = weight.dim(0);
    const SymShape& shape = p.type(0).shape;
    if (shape.size() < 2 || shape.size() > kMostAxes || p.type(0).dtype != DType::kF32 ||
        node.types[0] != product->types[0] || scales.dtype() != DType::kF32 ||
        numel(scales.shape()) != outputs || a.value(1 - i).dim(-1) != outputs)
      continue;
    return Scaled{p.value(0), {weight.node(), scales.node(), weight.dim(1).value(), -128, 127}};
  }
  return std::nullopt;
}

/// Rewrites one graph. What is derived from a weight is made once.
class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph) {
    for (const Node* node : graph.order())
      for (const Value value : operands(*node)) ++readers_[value];
    for (const Output& output : graph.outputs()) ++readers_[output.value];
  }

  /// What stands for the node; undefined where it stays.
  Value replacement(const Node& node) {
    if (const auto r = rounded(node)) {
      if (const Value layer = int8_layer(*r); layer.defined()) return layer;
      return graph_.emit(kRoundTo, {r->x, r->scale, r->zero, r->is_signed});
    }
    if (const auto s = scaled(node)) {
      const auto [elements, scales] = stored(s->weight, false);
      return graph_.emit(kQuantizedLinear, {s->x, elements, scales, none()});
    }
    if (!is_op(&node, {"aten::linear"})) return {};
    try {
      return layer(node);
    } catch (const Refused& refused) {
      ++refused_[refused.why];
      return {};
    }
  }
  std::map<std::string, int64_t> refused() { return std::move(refused_); }

 private:
  Value layer(const Node& node) {
    const Args a = node.arguments();
    const std::optional<Weight> weight = weight_of(a.value(1));
    if (!weight) return {};
    if (a.has(2) && !is_stored(a.value(2))) throw Refused{"the bias is not static"};
    const size_t axes = a.type(0).shape.size();
    if (axes < 2 || axes > kMostAxes) throw Refused{"the input has fewer than 2 axes or over 6"};
    const Value input = dynamic_input(a.value(0));
    const bool dynamic = input.defined();
    const auto [elements, scales] = stored(*weight, dynamic);
    const Value layer = graph_.emit(
        kQuantizedLinear,
        {dynamic ? input : a.value(0), elements, scales, a.optional(2), named("dynamic", dynamic)});
    if (readers_[Value(const_cast<Node*>(&node), 0)] == 1) read_once_.insert(layer);
    return layer;
  }

  /// A layer over an input of int8 whose result goes nowhere but to int8: undefined for others.
  Value int8_layer(const Rounded& result) {
    const Node* layer = result.x.node();
    if (!result.is_signed || !read_once_.contains(result.x) || layer->arguments().flag(4))
      return {};
    const Args a = layer->arguments();
    const Node* before = a.value(0).node();
    if (before->kind != NodeKind::kOp || before->op->name() != kRoundTo) return {};
    const Args input = before->arguments();
    if (!input.flag(3)) return {};
    const Tensor scales = materialize(*a.value(2).node()->data);
    // What XNNPACK's kernels multiply sums by.
    for (const float scale : scales.values<float>()) {
      const double factor = input.number(1) * scale / result.scale;
      if (!(factor >= 0x1p-32 && factor < 256)) return {};
    }
    Value bias, bias_scales;
    if (a.has(3)) std::tie(bias, bias_scales) = whole_bias(a, scales, input.number(1));
    const std::vector<double> parameters = {input.number(1), input.number(2), result.scale,
                                            static_cast<double>(result.zero)};
    return graph_.emit(kInt8Linear,
                       {input.value(0), a.value(1), a.value(2), bias, bias_scales, parameters});
  }

  /// The bias in steps of the input's scale times the weight's.
  std::pair<Value, Value> whole_bias(const Args& a, const Tensor& scales, double input) {
    const Tensor bias = materialize(*a.value(3).node()->data);
    Tensor whole(DType::kI32, bias.shape()), steps(DType::kF32, bias.shape());
    for (size_t i = 0; i < static_cast<size_t>(bias.numel()); ++i) {
      const float step = static_cast<float>(input) * scales.values<float>()[i];
      const double count = std::nearbyint(static_cast<double>(bias.values<float>()[i]) / step);
      steps.mutable_values<float>()[i] = step;
      whole.mutable_values<int32_t>()[i] =
          static_cast<int32_t>(std::clamp(count, -0x1p31, 0x1p31 - 1));
    }
    const std::string name = a.value(3).node()->name;
    return {graph_.add_weight(name + ".i32", lazy_constant(std::move(whole))),
            graph_.add_weight(name + ".steps", lazy_constant(std::move(steps)))};
  }

  std::pair<Value, Value> stored(const Weight& w, bool dynamic) {
    const Shape& shape = w.elements->data->shape();
    const int64_t groups = shape[1] / w.group;
    const bool halves = w.low >= -8 && w.high <= 7 && dynamic && shape[1] % 2 == 0;
    if (shape[1] % w.group != 0 || w.scales->data->numel() != shape[0] * groups)
      throw Refused{"the weight's groups do not fit"};
    if (groups > 1 && !(dynamic && halves))
      throw Refused{"XNNPACK takes scales of groups with 4 bits and a dynamic input only"};
    if (groups > 1 && w.group % kSmallestGroup != 0)
      throw Refused{"the weight's groups are not multiples of 32"};
    const Value elements =
        halves ? derived(w.elements, "nibbles", [&] { return lazy_nibbles(w.elements->data); })
               : w.elements->out();
    const std::string form = groups > 1 ? "bf16" : "f32";
    const Value scales = derived(w.scales, form, [&] {
      const Lazy single = lazy_cast(w.scales->data, DType::kF32);
      if (groups == 1) return lazy_reshape(single, {shape[0]});
      return lazy_cast(lazy_reshape(single, {shape[0], groups}), DType::kBF16);
    });
    return {elements, scales};
  }

  template <class Make>
  Value derived(const Node* from, const std::string& form, Make make) {
    Value& value = derived_[{from, form}];
    if (!value.defined()) value = graph_.add_weight(from->name + "." + form, make());
    return value;
  }

  Graph& graph_;
  std::map<std::pair<const Node*, std::string>, Value> derived_;
  std::map<Value, int64_t> readers_;
  std::set<Value> read_once_;  ///< layers made here
  std::map<std::string, int64_t> refused_;
};

}  // namespace

std::map<std::string, int64_t> fuse_quantized_layers(Graph& graph) {
  register_kernels();
  Fusion fusion(graph);
  Renaming renaming;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    const ScopeGuard scope(graph, node->scope);
    if (const Value value = fusion.replacement(*node); value.defined())
      renaming.add(node->out(), value);
  }
  renaming.finish(graph);
  graph.drop_dead();
  return fusion.refused();
}

}  // namespace slipway::executorch

// The notation for writing graphs.
#include "ir/build.h"

#include <limits>

namespace slipway {
namespace {

Value unary(const char* op, Value a) { return a.graph().emit(op, {a}); }
Value pair(const char* op, Value a, Value b) { return a.graph().emit(op, {a, b}); }
Value number(const char* op, Value a, double b) { return a.graph().emit(op, {a, b}); }

std::vector<Sym> syms(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

}  // namespace

Value operator+(Value a, Value b) { return pair("aten::add.Tensor", a, b); }
Value operator-(Value a, Value b) { return pair("aten::sub.Tensor", a, b); }
Value operator*(Value a, Value b) { return pair("aten::mul.Tensor", a, b); }
Value operator/(Value a, Value b) { return pair("aten::div.Tensor", a, b); }
Value operator+(Value a, double b) { return number("aten::add.Scalar", a, b); }
Value operator-(Value a, double b) { return number("aten::sub.Scalar", a, b); }
Value operator*(Value a, double b) { return number("aten::mul.Scalar", a, b); }
Value operator/(Value a, double b) { return number("aten::div.Scalar", a, b); }

Value add(Value a, int64_t b) { return a.graph().emit("aten::add.Scalar", {a, b}); }

Value pow(Value a, double exponent) { return number("aten::pow.Tensor_Scalar", a, exponent); }
Value pow(Value a, Value exponent) { return pair("aten::pow.Tensor_Tensor", a, exponent); }
Value neg(Value a) { return unary("aten::neg", a); }
Value exp(Value a) { return unary("aten::exp", a); }
Value sqrt(Value a) { return unary("aten::sqrt", a); }
Value rsqrt(Value a) { return unary("aten::rsqrt", a); }
Value reciprocal(Value a) { return unary("aten::reciprocal", a); }
Value sin(Value a) { return unary("aten::sin", a); }
Value cos(Value a) { return unary("aten::cos", a); }
Value tanh(Value a) { return unary("aten::tanh", a); }
Value erf(Value a) { return unary("aten::erf", a); }
Value sigmoid(Value a) { return unary("aten::sigmoid", a); }
Value relu(Value a) { return unary("aten::relu", a); }
Value silu(Value a) { return unary("aten::silu", a); }
Value gelu(Value a) { return unary("aten::gelu", a); }
Value gelu_tanh(Value a) { return a.graph().emit("aten::gelu", {a, named("approximate", "tanh")}); }

Value to(Value a, DType dtype) {
  if (a.dtype() == dtype) return a;
  return a.graph().emit("aten::_to_copy", {a, named("dtype", dtype)});
}

Value less(Value a, Sym b) { return a.graph().emit("aten::lt.Scalar", {a, b}); }
Value less_equal(Value a, Value b) { return pair("aten::le.Tensor", a, b); }
Value greater(Value a, Sym b) { return a.graph().emit("aten::gt.Scalar", {a, b}); }
Value not_equal(Value a, Sym b) { return a.graph().emit("aten::ne.Scalar", {a, b}); }
Value logical_and(Value a, Value b) { return pair("aten::logical_and", a, b); }
Value where(Value condition, Value a, Value b) {
  return condition.graph().emit("aten::where.self", {condition, a, b});
}

Value lowest(Value like) {
  double value = -std::numeric_limits<float>::max();
  if (like.dtype() == DType::kF64) value = -std::numeric_limits<double>::max();
  if (like.dtype() == DType::kF16) value = -65504.0;
  if (like.dtype() == DType::kBF16) value = -3.3895313892515355e38;
  return full(like.graph(), {}, value, like.dtype());
}

Value mean(Value a, std::vector<int64_t> axes, bool keepdim) {
  return a.graph().emit("aten::mean.dim", {a, syms(axes), keepdim});
}
Value sum(Value a, std::vector<int64_t> axes, bool keepdim) {
  return a.graph().emit("aten::sum.dim_IntList", {a, syms(axes), keepdim});
}
Value amax(Value a) { return unary("aten::amax", a); }
Value softmax(Value a, int64_t axis) { return a.graph().emit("aten::softmax.int", {a, axis}); }
Value cumsum(Value a, int64_t axis) { return a.graph().emit("aten::cumsum", {a, axis}); }

Value view(Value a, SymShape shape) { return a.graph().emit("aten::view", {a, std::move(shape)}); }
Value permute(Value a, std::vector<int64_t> axes) {
  return a.graph().emit("aten::permute", {a, syms(axes)});
}
Value transpose(Value a, int64_t axis0, int64_t axis1) {
  return a.graph().emit("aten::transpose.int", {a, axis0, axis1});
}
Value unsqueeze(Value a, int64_t axis) { return a.graph().emit("aten::unsqueeze", {a, axis}); }
Value squeeze(Value a, int64_t axis) { return a.graph().emit("aten::squeeze.dim", {a, axis}); }
Value expand(Value a, SymShape shape) {
  return a.graph().emit("aten::expand", {a, std::move(shape)});
}
Value cat(std::vector<Value> parts, int64_t axis) {
  Graph& graph = parts.at(0).graph();
  return graph.emit("aten::cat", {std::move(parts), axis});
}
Value slice(Value a, int64_t axis, Sym start, Sym end) {
  return a.graph().emit("aten::slice.Tensor", {a, axis, start, end});
}
Value select(Value a, int64_t axis, int64_t index) {
  return a.graph().emit("aten::select.int", {a, axis, index});
}

Value arange(Graph& graph, Sym start, Sym end) {
  return graph.emit("aten::arange.start_step", {start, end});
}
Value full(Graph& graph, SymShape shape, double value, DType dtype) {
  return graph.emit("aten::full", {std::move(shape), value, named("dtype", dtype)});
}

Value embedding(Value table, Value indices) { return pair("aten::embedding", table, indices); }
Value matmul(Value a, Value b) { return pair("aten::matmul", a, b); }
Value linear(Value a, Value weight, Value bias) {
  return a.graph().emit("aten::linear", {a, weight, bias});
}
Value layer_norm(Value a, Value weight, Value bias, double eps) {
  return a.graph().emit("aten::layer_norm", {a, weight.shape(), weight, bias, eps});
}

Value rms_norm(Value a, Value weight, double eps) {
  return a.graph().emit("slipway::rms_norm", {a, weight, eps});
}
Value rotary_embedding(Value a, Value cos, Value sin) {
  return a.graph().emit("slipway::rotary_embedding", {a, cos, sin});
}
Value attention(Value query, Value key, Value value, Value mask, double scale) {
  return query.graph().emit("slipway::attention", {query, key, value, mask, scale});
}
Value causal_mask(Value padding_mask, Sym query_length, std::optional<int64_t> window) {
  return padding_mask.graph().emit("slipway::causal_mask",
                                   {padding_mask, query_length, window ? OpArg(*window) : none()});
}
Value cache_append(Value past, Value current) {
  return pair("slipway::cache_append", past, current);
}
Value cache_write(Value cache, Value slots, Value current) {
  return cache.graph().emit("slipway::cache_write", {cache, slots, current});
}
Value keep_last(Value a, Value count, Sym kept) {
  return a.graph().emit("slipway::keep_last", {a, count, kept});
}

}  // namespace slipway

// Layers that families share.
#include "models/common/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace slipway::models {

Value linear(const Scope& s, Value x, int64_t out, Bias bias, std::string_view why) {
  const auto in = s.enter();
  const int64_t features = x.dim(-1).value();
  const Value weight = s.weight("weight", {out, features}, why);
  return slipway::linear(x, weight, bias == Bias::kYes ? s.weight("bias", {out}, why) : Value());
}

double read_epsilon(const Config& config, std::string_view key, double fallback) {
  const double eps = config.get_double_or(key, fallback);
  if (!(eps > 0 && eps < 1))
    throw Error(kInvalid,
                fmt::format("[models] '{}' of {} is {}, need a number above 0 and below 1", key,
                            config.source(), eps));
  return eps;
}

Value embedding(const Scope& s, Value ids, int64_t count, int64_t size, std::string_view why) {
  const auto in = s.enter();
  return slipway::embedding(s.weight("weight", {count, size}, why), ids);
}

Value layer_norm(const Scope& s, Value x, double eps) {
  const auto in = s.enter();
  const Shape size = {x.dim(-1).value()};
  return slipway::layer_norm(x, s.weight("weight", size, "the layer's width"),
                             s.weight("bias", size, "the layer's width"), eps);
}

Value rms_norm(const Scope& s, Value x, double eps) {
  const auto in = s.enter();
  return slipway::rms_norm(x, s.weight("weight", {x.dim(-1).value()}, "the layer's width"), eps);
}

Value activation(const std::string& name, Value x) {
  if (name == "gelu") return gelu(x);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return gelu_tanh(x);
  if (name == "silu" || name == "swish") return silu(x);
  if (name == "relu") return relu(x);
  if (name == "tanh") return tanh(x);
  if (name == "quick_gelu") return x * sigmoid(x * 1.702);
  throw Error(
      kUnsupported,
      fmt::format("[models] activation '{}' is not known; supported: gelu, gelu_fast, gelu_new, "
                  "gelu_pytorch_tanh, quick_gelu, relu, silu, swish, tanh",
                  name));
}

Value split_heads(Value x, int64_t heads, int64_t head_dim) {
  return transpose(view(x, {x.dim(0), x.dim(1), heads, head_dim}), 1, 2);
}

Value merge_heads(Value x) {
  return view(transpose(x, 1, 2), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

}  // namespace slipway::models

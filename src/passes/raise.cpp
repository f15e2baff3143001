// Recovers intent: finds the bodies of ops in graphs that were written without them.
#include "passes/raise.h"

#include <vector>

#include "ir/build.h"

namespace slipway {
namespace {

using Found = std::optional<Value>;

/// Examples only have to reach each shape of a body: with casts (a half) and without (f32).
DType example_dtype(Pattern& p) { return p.choose("half", 2) == 0 ? DType::kF32 : DType::kF16; }

/// w * cast(x32 * rsqrt(mean(x32^2) + eps))
Value rms_norm_pattern(Pattern& p) {
  const DType dtype = example_dtype(p);
  const bool offset = p.choose("offset", 2) == 1;
  return p.body("slipway::rms_norm", {p.example("x", {dtype, {1, 8}}),
                                      p.example("weight", {dtype, {8}}), p.scalar("eps"), offset});
}

Found rms_norm(Match& m) {
  if (!m["x"].is_floating()) return m.fail("x is not floating point", m["x"]);
  return m.raise("slipway::rms_norm",
                 {m["x"], m["weight"], m.scalar("eps"), m.choice("offset") == 1});
}

/// (x - mean) * rsqrt(mean((x - mean)^2) + eps) * w + b, w and b optional
Value layer_norm_pattern(Pattern& p) {
  const ValueType vector{DType::kF32, {8}};
  const Value bias = p.choose("bias", 2) == 1 ? p.example("bias", vector) : Value();
  const Value weight = p.choose("weight", 2) == 1 ? p.example("weight", vector) : Value();
  return p.body("aten::layer_norm",
                {p.example("x", {DType::kF32, {1, 8}}), 8, weight, bias, p.scalar("eps")});
}

Found layer_norm(Match& m) {
  const Value x = m["x"];
  if (!x.is_floating()) return m.fail("x is not floating point", x);
  if (x.rank() == 0) return m.fail("x is a scalar", x);
  return m.raise("aten::layer_norm",
                 {x, x.dim(-1), m.optional("weight"), m.optional("bias"), m.scalar("eps")});
}

Found silu_rule(Match& m) {
  if (!m["x"].is_floating()) return m.fail("x is not floating point", m["x"]);
  return m.raise("aten::silu", {m["x"]});
}

const char* approximation(int choice) { return choice == 0 ? "none" : "tanh"; }

Found gelu_rule(Match& m) {
  if (!m["x"].is_floating()) return m.fail("x is not floating point", m["x"]);
  return m.raise("aten::gelu", {m["x"], named("approximate", approximation(m.choice("kind")))});
}

/// Halves or neighbours, of the whole head or of its first part.
Value rotary_pattern(Pattern& p) {
  const bool interleaved = p.choose("interleaved", 2) == 1;
  const int64_t head = p.choose("partial", 2) == 1 ? 16 : 8;
  return p.body(
      "slipway::rotary_embedding",
      {p.example("x", {DType::kF32, {1, 1, 1, head}}), p.example("cos", {DType::kF32, {1, 1, 4}}),
       p.example("sin", {DType::kF32, {1, 1, 4}}), interleaved});
}

Found rotary(Match& m) {
  return m.raise("slipway::rotary_embedding",
                 {m["x"], m["cos"], m["sin"], m.choice("interleaved") == 1});
}

/// softmax(scale q k' + mask) v
Value attention_pattern(Pattern& p) {
  const DType dtype = example_dtype(p);
  const int64_t query_heads = p.choose("grouped", 2) + 1;
  const Value mask =
      p.choose("masked", 2) == 1 ? p.example("mask", {DType::kBool, {1, 1, 1, 1}}) : Value();
  const double softcap = p.choose("softcap", 2) == 1 ? p.scalar("softcap") : 0.0;
  return p.body(
      "slipway::attention",
      {p.example("query", {dtype, {1, query_heads, 1, 8}}), p.example("key", {dtype, {1, 1, 1, 8}}),
       p.example("value", {dtype, {1, 1, 1, 8}}), mask, p.scalar("scale"), softcap});
}

Found attention_rule(Match& m) {
  const double softcap = m.choice("softcap") == 1 ? m.scalar("softcap") : 0.0;
  return m.raise("slipway::attention", {m["query"], m["key"], m["value"], m.optional("mask"),
                                        m.scalar("scale"), softcap});
}

/// key slot <= query slot, within the window, and kept by the padding mask
Value causal_mask_pattern(Pattern& p) {
  const DType dtype = p.choose("integers", 2) == 1 ? DType::kI64 : DType::kBool;
  const OpArg window = p.choose("window", 2) == 1 ? OpArg(p.size("window")) : none();
  return p.body("slipway::causal_mask", {p.example("padding_mask", {dtype, {1, 8}}), 4, window});
}

Found causal_mask_rule(Match& m) {
  if (m.root().rank() != 4) return m.fail("the mask is not of rank 4");
  const OpArg window = m.choice("window") == 1 ? OpArg(m.size("window")) : none();
  return m.raise("slipway::causal_mask", {m["padding_mask"], m.root().dim(2), window});
}

constexpr Rule kRules[] = {
    {"rms_norm", rms_norm_pattern, rms_norm, 4},
    {"layer_norm", layer_norm_pattern, layer_norm, 4},
    {"silu",
     [](Pattern& p) {
       return p.body("aten::silu", {p.example("x", {DType::kF32, {8}})});
     },
     silu_rule},
    {"gelu",
     [](Pattern& p) {
       const char* kind = approximation(p.choose("kind", 2));
       return p.body("aten::gelu",
                     {p.example("x", {DType::kF32, {8}}), named("approximate", kind)});
     },
     gelu_rule, 2},
    {"rotary_embedding", rotary_pattern, rotary, 4},
    {"attention", attention_pattern, attention_rule, 16},
    {"causal_mask", causal_mask_pattern, causal_mask_rule, 4},
};

}  // namespace

std::span<const Rule> raising_rules() { return kRules; }

int64_t raise(Graph& graph, PassContext& context) {
  std::vector<Rule> spelled;
  for (const auto part : {mask_rules(), spelling_rules()})
    spelled.insert(spelled.end(), part.begin(), part.end());
  return apply_rules(graph, spelled, context) +
         apply_rules(graph, raising_rules(), context, Precedence::kLargestFirst);
}

}  // namespace slipway

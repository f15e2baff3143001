// Raising finds every body it knows, in the form that decompose writes it.
#include "passes/raise.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/cse.h"
#include "passes/decompose.h"

namespace slipway {
namespace {

using Build = void (*)(Graph&);

/// The graph, expanded, cleaned and raised, is the graph again.
void expect_round_trip(Build build) {
  Graph before, after;
  build(before);
  build(after);
  ASSERT_GT(decompose(after, [](const Op&) { return false; }), 0);
  cse(after);
  ASSERT_NE(first_difference(before, after), std::nullopt);
  PassContext context;
  EXPECT_GT(raise(after, context), 0);
  verify(after);
  EXPECT_EQ(print(after), print(before));
}

const Sym kBatch = Sym::symbol("b", 1), kLength = Sym::symbol("s", 1);

TEST(Raise, RmsNormInEveryDtype) {
  expect_round_trip([](Graph& g) {
    for (const DType d : {DType::kF32, DType::kF16, DType::kBF16}) {
      const std::string name(short_name(d));
      const Value x = g.add_input("x_" + name, {d, {kBatch, kLength, 64}});
      const Value w = g.add_weight("w_" + name, ValueType{d, {64}});
      g.add_output(name, rms_norm(x, w, 1e-6));
      g.add_output("offset_" + name, g.emit("slipway::rms_norm", {x, w, 1e-5, true}));
    }
  });
}

TEST(Raise, LayerNormWithAndWithoutWeights) {
  expect_round_trip([](Graph& g) {
    const Value x = g.add_input("x", {DType::kF32, {kBatch, kLength, 64}});
    const Value w = g.add_weight("w", ValueType{DType::kF32, {64}});
    const Value b = g.add_weight("b", ValueType{DType::kF32, {64}});
    g.add_output("whole", layer_norm(x, w, b, 1e-12));
    g.add_output("weight", layer_norm(x, w, Value(), 1e-5));
    g.add_output("plain", g.emit("aten::layer_norm", {x, 64, none(), none(), 1e-3}));
  });
}

TEST(Raise, Activations) {
  expect_round_trip([](Graph& g) {
    const Value x = g.add_input("x", {DType::kF16, {kBatch, 64}});
    g.add_output("silu", silu(x));
    g.add_output("gelu", gelu(x));
    g.add_output("tanh", gelu_tanh(x));
  });
}

TEST(Raise, RotaryOfEveryKind) {
  expect_round_trip([](Graph& g) {
    const Value x = g.add_input("x", {DType::kF32, {kBatch, 4, kLength, 64}});
    for (const int64_t half : {int64_t{32}, int64_t{16}}) {
      const std::string name = std::to_string(half);
      const Value cos = g.add_input("cos" + name, {DType::kF32, {kBatch, kLength, half}});
      const Value sin = g.add_input("sin" + name, {DType::kF32, {kBatch, kLength, half}});
      g.add_output("halves" + name, rotary_embedding(x, cos, sin));
      g.add_output("pairs" + name, g.emit("slipway::rotary_embedding", {x, cos, sin, true}));
    }
  });
}

TEST(Raise, AttentionOfEveryKind) {
  expect_round_trip([](Graph& g) {
    const Sym total = Sym::symbol("p") + kLength;
    for (const DType d : {DType::kF32, DType::kBF16}) {
      for (const int64_t heads : {int64_t{6}, int64_t{2}}) {
        const std::string name = std::string(short_name(d)) + "_" + std::to_string(heads);
        const Value q = g.add_input("q_" + name, {d, {kBatch, heads, kLength, 64}});
        const Value k = g.add_input("k_" + name, {d, {kBatch, 2, total, 64}});
        const Value v = g.add_input("v_" + name, {d, {kBatch, 2, total, 64}});
        const Value mask = g.add_input("m_" + name, {DType::kBool, {kBatch, 1, kLength, total}});
        g.add_output("masked_" + name, attention(q, k, v, mask, 0.125));
        g.add_output("free_" + name, attention(q, k, v, Value(), 0.2));
        g.add_output("capped_" + name, g.emit("slipway::attention", {q, k, v, mask, 0.125, 50.0}));
      }
    }
  });
}

TEST(Raise, CausalMasks) {
  expect_round_trip([](Graph& g) {
    const Sym total = Sym::symbol("p") + kLength;
    for (const DType d : {DType::kI64, DType::kBool}) {
      const Value padding = g.add_input("mask_" + std::string(short_name(d)), {d, {kBatch, total}});
      g.add_output("full_" + std::string(short_name(d)),
                   causal_mask(padding, kLength, std::nullopt));
      g.add_output("window_" + std::string(short_name(d)), causal_mask(padding, kLength, 128));
    }
  });
}

TEST(Raise, ADeepModelTakesSeconds) {
  Graph g;
  Value x = g.add_input("x", {DType::kF32, {kBatch, kLength, 64}});
  const Value cos = g.add_input("cos", {DType::kF32, {kBatch, kLength, 8}});
  const Value sin = g.add_input("sin", {DType::kF32, {kBatch, kLength, 8}});
  const Value w = g.add_weight("w", ValueType{DType::kF32, {64}});
  constexpr int kLayers = 400;
  for (int i = 0; i < kLayers; ++i) {
    const Value h = view(rms_norm(x, w, 1e-6), {kBatch, kLength, 4, 16});
    const Value q = rotary_embedding(transpose(h, 1, 2), cos, sin);
    const Value y = attention(q, q, transpose(h, 1, 2), Value(), 0.25);
    x = silu(x + view(transpose(y, 1, 2), {kBatch, kLength, 64}));
  }
  g.add_output("y", x);
  decompose(g, [](const Op&) { return false; });
  cse(g);
  ASSERT_GT(g.order().size(), size_t{kLayers * 25});
  const auto start = std::chrono::steady_clock::now();
  PassContext context;
  EXPECT_EQ(raise(g, context), 4 * kLayers);
  // 1 s in a debug build on a busy machine; the bound leaves room for sanitizers.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
}

TEST(Raise, AnotherAxisIsNotTheBody) {
  Graph g;
  const Value x = g.add_input("x", {DType::kF32, {4, 64, 64}});
  const Value w = g.add_weight("w", ValueType{DType::kF32, {64}});
  g.add_output("y", w * (x * rsqrt(mean(pow(x, 2.0), {1}, true) + 1e-6)));
  PassContext context;
  EXPECT_EQ(raise(g, context), 0);
  ASSERT_EQ(context.reasons().size(), 1u);
  EXPECT_EQ(context.reasons()[0].rule, "rms_norm");
  EXPECT_EQ(context.reasons()[0].message, "the expression is not the body of slipway::rms_norm");
}

}  // namespace
}  // namespace slipway

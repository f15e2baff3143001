// The rewriter: matching, wildcards, reasons, single use, rest.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace slipway {
namespace {

// a * b + c -> c - a * b: shows both ways of the commuting ops, and never matches itself.
constexpr Rule kProductPlus{
    "product_plus", [](Pattern& p) { return p.any("a") * sigmoid(p.any("b")) + p.any("c"); },
    [](Match& m) -> std::optional<Value> { return m.emit("aten::sub.Tensor", m["c"], m["a"]); }};

class Rewrite : public ::testing::Test {
 protected:
  int64_t apply(const Rule& rule) {
    const int64_t changes = apply_rules(graph, std::span(&rule, 1), context);
    verify(graph);
    return changes;
  }
  std::string op_of(size_t output) const {
    const Node* node = graph.outputs()[output].value.node();
    return node->op == nullptr ? node->name : node->op->name();
  }

  Graph graph;
  PassContext context;
  Value x = graph.add_input("x", {DType::kF32, {4}});
  Value y = graph.add_input("y", {DType::kF32, {4}});
};

TEST_F(Rewrite, CommutingOpsMatchBothWays) {
  graph.add_output("0", x * sigmoid(y) + y);
  graph.add_output("1", sigmoid(y) * x + y);
  graph.add_output("2", y + x * sigmoid(y));
  graph.add_output("3", y + sigmoid(y) * x);
  EXPECT_EQ(apply(kProductPlus), 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(op_of(i), "aten::sub.Tensor");
    EXPECT_EQ(std::get<Value>(graph.outputs()[i].value.node()->args[1]), x);
  }
}

TEST_F(Rewrite, BacktracksOverEarlierChoices) {
  // The first way round binds a to sigmoid(x), which only fails two levels up.
  static constexpr Rule rule{
      "silu_times", [](Pattern& p) { return (p.any("a") * p.any("b")) * sigmoid(p.any("b")); },
      [](Match& m) -> std::optional<Value> { return m.emit("aten::minimum", m["a"], m["b"]); }};
  graph.add_output("0", (x * y) * sigmoid(x));
  EXPECT_EQ(apply(rule), 1);
  const Node* node = graph.outputs()[0].value.node();
  EXPECT_EQ(std::get<Value>(node->args[0]), y);
  EXPECT_EQ(std::get<Value>(node->args[1]), x);
}

TEST_F(Rewrite, AlphaIsCompared) {
  graph.add_output("0", graph.emit("aten::add.Tensor", {x * sigmoid(y), y, named("alpha", 2)}));
  EXPECT_EQ(apply(kProductPlus), 0);
}

TEST_F(Rewrite, ScalarsBindAndCompare) {
  static constexpr Rule rule{"scale_twice",
                             [](Pattern& p) { return p.any("x") * p.scalar("k") * p.scalar("k"); },
                             [](Match& m) -> std::optional<Value> {
                               return m.emit("aten::div.Scalar", m["x"], m.scalar("k"));
                             }};
  graph.add_output("same", x * 3.0 * 3.0);
  graph.add_output("integer", graph.emit("aten::mul.Scalar", {x * 3.0, 3}));
  graph.add_output("different", x * 3.0 * 4.0);
  EXPECT_EQ(apply(rule), 2);
  EXPECT_EQ(op_of(0), "aten::div.Scalar");
  EXPECT_EQ(op_of(1), "aten::div.Scalar");
  EXPECT_EQ(op_of(2), "aten::mul.Scalar");
}

TEST_F(Rewrite, InfinityIsNoNumberButItself) {
  static constexpr Rule rule{
      "times_infinity",
      [](Pattern& p) { return p.any("x") * std::numeric_limits<double>::infinity(); },
      [](Match& m) -> std::optional<Value> { return neg(m["x"]); }};
  graph.add_output("0", x * 2.0);
  graph.add_output("1", x * std::numeric_limits<double>::infinity());
  EXPECT_EQ(apply(rule), 1);
  EXPECT_EQ(op_of(0), "aten::mul.Scalar");
}

TEST_F(Rewrite, SizesMayBeExpressions) {
  static constexpr Rule rule{
      "second_half",
      [](Pattern& p) { return slice(p.any("x"), 0, p.size("half"), p.size("half") * 2); },
      [](Match& m) -> std::optional<Value> { return slice(m["x"], 0, 0, m.size("half")); }};
  graph.add_output("half", slice(x, 0, 2, 4));
  graph.add_output("other", slice(x, 0, 1, 3));
  EXPECT_EQ(apply(rule), 1);
}

TEST_F(Rewrite, ConstantWildcardsWantConstants) {
  static constexpr Rule rule{"minus_constant",
                             [](Pattern& p) { return p.any("x") - p.constant("c"); },
                             [](Match& m) -> std::optional<Value> { return m["x"] + neg(m["c"]); }};
  graph.add_output("0", x - graph.constant(Tensor::of<float>({1}, {2})));
  graph.add_output("1", x - y);
  EXPECT_EQ(apply(rule), 1);
  EXPECT_EQ(op_of(0), "aten::add.Tensor");
  EXPECT_EQ(op_of(1), "aten::sub.Tensor");
}

TEST_F(Rewrite, ReasonsSayRuleOpAndScope) {
  static constexpr Rule rule{
      "never", [](Pattern& p) { return relu(p.any("x")); },
      [](Match& m) -> std::optional<Value> { return m.fail("x is never good enough"); }};
  const ScopeGuard scope(graph, "model.mlp");
  graph.add_output("0", relu(x));
  EXPECT_EQ(apply(rule), 0);
  ASSERT_EQ(context.reasons().size(), 1u);
  EXPECT_EQ(context.reasons()[0].rule, "never");
  EXPECT_EQ(context.reasons()[0].message, "x is never good enough");
  EXPECT_EQ(context.reasons()[0].op, "aten::relu");
  EXPECT_EQ(context.reasons()[0].scope, "model.mlp");
}

TEST_F(Rewrite, SingleUseKeepsSharedInteriors) {
  static constexpr Rule rule{
      "neg_relu", [](Pattern& p) { return relu(neg(p.any("x"))); },
      [](Match& m) -> std::optional<Value> { return m.emit("aten::abs", m["x"]); }, 1,
      Interior::kSingleUse};
  const Value shared = neg(x);
  graph.add_output("kept", relu(shared));
  graph.add_output("shared", shared);
  graph.add_output("fused", relu(neg(y)));
  EXPECT_EQ(apply(rule), 1);
  EXPECT_EQ(op_of(0), "aten::relu");
  EXPECT_EQ(op_of(2), "aten::abs");
  ASSERT_EQ(context.reasons().size(), 1u);
  EXPECT_EQ(context.reasons()[0].message, "a value inside is used elsewhere");
}

TEST_F(Rewrite, AReplacementOfAnotherTypeIsRefused) {
  static constexpr Rule rule{"drop_unsqueeze", [](Pattern& p) { return unsqueeze(p.any("x"), 0); },
                             [](Match& m) -> std::optional<Value> { return m["x"]; }};
  graph.add_output("0", unsqueeze(x, 0));
  EXPECT_EQ(apply(rule), 0);
  ASSERT_EQ(context.reasons().size(), 1u);
  EXPECT_EQ(context.reasons()[0].message, "the result would be f32[4], need f32[1, 4]");
}

TEST_F(Rewrite, RulesThatUndoThemselvesAreABug) {
  static constexpr Rule rule{
      "swap", [](Pattern& p) { return p.any("a") - p.any("b"); },
      [](Match& m) -> std::optional<Value> { return m.emit("aten::sub.Tensor", m["b"], m["a"]); }};
  graph.add_output("0", x - y);
  try {
    apply(rule);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInternal);
  }
}

TEST_F(Rewrite, PatternsHaveNoTypes) {
  Pattern p;
  EXPECT_THROW(to(p.any("x"), DType::kF16), Error);
}

TEST_F(Rewrite, ChainsFinishInOneCall) {
  static constexpr Rule rule{"neg_twice", [](Pattern& p) { return neg(neg(p.any("x"))); },
                             [](Match& m) -> std::optional<Value> { return m["x"]; }};
  Value v = x;
  for (int i = 0; i < 10000; ++i) v = neg(v);
  graph.add_output("0", v);
  EXPECT_EQ(apply(rule), 5000);
  EXPECT_EQ(op_of(0), "x");
}

}  // namespace
}  // namespace slipway

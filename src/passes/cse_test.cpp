// Common subexpressions: what is merged, what is not, and that it stays fast.
#include "passes/cse.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ir/build.h"

namespace slipway {
namespace {

TEST(Cse, MergesConstantsByContents) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  const Value a = graph.constant(Tensor::of<float>({2}, {1, 2}));
  const Value same = graph.constant(Tensor::of<float>({2}, {1, 2}));
  const Value other_values = graph.constant(Tensor::of<float>({2}, {1, 3}));
  const Value other_shape = graph.constant(Tensor::of<float>({1, 2}, {1, 2}));
  graph.add_output("y", ((x * a) - (x * same)) * (x * other_values) * (x * other_shape));
  EXPECT_EQ(cse(graph), 2);  // a constant and the product over it
  EXPECT_EQ(graph.order().size(), 10u);
}

TEST(Cse, AlphaBreaksCommutation) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  const Value y = graph.add_input("y", {DType::kF32, {2}});
  const Value plain = (x + y) - (y + x);
  graph.add_output("plain", plain);
  graph.add_output("scaled", graph.emit("aten::add.Tensor", {x, y, named("alpha", 2)}) -
                                 graph.emit("aten::add.Tensor", {y, x, named("alpha", 2)}));
  EXPECT_EQ(cse(graph), 1);
  const Node* sub = graph.outputs()[0].value.node();
  EXPECT_EQ(std::get<Value>(sub->args[0]), std::get<Value>(sub->args[1]));
}

TEST(Cse, OrderMattersWhereTheOpDoesNotCommute) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  const Value y = graph.add_input("y", {DType::kF32, {2}});
  graph.add_output("out", (x - y) * (y - x));
  EXPECT_EQ(cse(graph), 0);
}

TEST(Cse, AxesCompareFromEitherEnd) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2, 3}});
  graph.add_output("out", softmax(x, -1) * softmax(x, 1) * softmax(x, 0));
  EXPECT_EQ(cse(graph), 1);
}

TEST(Cse, TheFirstScopeStays) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  Value a, b;
  {
    const ScopeGuard scope(graph, "first");
    a = relu(x);
  }
  {
    const ScopeGuard scope(graph, "second");
    b = relu(x);
  }
  graph.add_output("a", a);
  graph.add_output("b", b);
  EXPECT_EQ(cse(graph), 1);
  EXPECT_EQ(graph.outputs()[1].value, graph.outputs()[0].value);
  EXPECT_EQ(graph.outputs()[1].value.node()->scope, "first");
}

/// n layers, each made twice and joined: everything doubled merges, layer by layer.
int64_t merged_in_doubled_chain(int layers, double* seconds) {
  Graph graph;
  Value x = graph.add_input("x", {DType::kF32, {4}});
  for (int i = 0; i < layers; ++i) x = relu(x * 2.0) + relu(x * 2.0);
  graph.add_output("y", x);
  const auto start = std::chrono::steady_clock::now();
  const int64_t merged = cse(graph);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return merged;
}

TEST(Cse, FiftyThousandNodesTakeUnderTwoSeconds) {
  double seconds = 0;
  EXPECT_EQ(merged_in_doubled_chain(10000, &seconds), 20000);
  // Measured 0.4 s in a debug build; the bound leaves room for sanitizers on a busy machine.
  EXPECT_LT(seconds, 2.0);
}

}  // namespace
}  // namespace slipway

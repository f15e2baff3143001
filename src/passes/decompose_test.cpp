// Expanding ops into their bodies.
#include "passes/decompose.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace slipway {
namespace {

int64_t count(const Graph& graph, std::string_view op) {
  int64_t n = 0;
  for (const Node* node : graph.order())
    if (node->op != nullptr && node->op->name() == op) ++n;
  return n;
}

bool keep_nothing(const Op&) { return false; }

TEST(Decompose, ExpandsUntilNoBodyIsLeft) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2, 8}});
  const Value w = graph.add_weight("w", {DType::kF32, {8, 8}});
  graph.add_output(
      "y", silu(linear(rms_norm(x, graph.add_weight("n", {DType::kF32, {8}}), 1e-6), w, Value())));
  EXPECT_EQ(decompose(graph, keep_nothing), 3);
  for (const Node* node : graph.order())
    if (node->op != nullptr) {
      EXPECT_EQ(node->op->row.body, nullptr) << node->op->name();
    }
  EXPECT_EQ(count(graph, "aten::matmul"), 1);
  EXPECT_EQ(graph.outputs()[0].value.type(), (ValueType{DType::kF32, {2, 8}}));
}

TEST(Decompose, LeavesWhatIsKept) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2, 8}});
  graph.add_output("y", silu(gelu(x)));
  EXPECT_EQ(decompose(graph, [](const Op& op) { return op.name() == "aten::gelu"; }), 1);
  EXPECT_EQ(count(graph, "aten::gelu"), 1);
  EXPECT_EQ(count(graph, "aten::silu"), 0);
}

TEST(Decompose, NewNodesHaveTheScopeOfTheOld) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2, 8}});
  {
    const ScopeGuard scope(graph, "model.layers.3.mlp.act");
    graph.add_output("y", silu(x));
  }
  decompose(graph, keep_nothing);
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp) {
      EXPECT_EQ(node->scope, "model.layers.3.mlp.act");
    }
  EXPECT_EQ(graph.scope(), "");
}

TEST(Decompose, ASharedValueIsExpandedOnce) {
  Graph graph;
  const Value y = silu(graph.add_input("x", {DType::kF32, {8}}));
  graph.add_output("a", y);
  graph.add_output("b", y * y);
  EXPECT_EQ(decompose(graph, keep_nothing), 1);
  EXPECT_EQ(count(graph, "aten::sigmoid"), 1);
  EXPECT_EQ(decompose(graph, keep_nothing), 0);
}

}  // namespace
}  // namespace slipway

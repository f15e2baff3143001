// Constant folding: what is computed, what is left.
#include "passes/fold.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/verify.h"

namespace slipway {
namespace {

TEST(Fold, ComputesChains) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  const Value c = graph.constant(Tensor::of<float>({2}, {1, 2}));
  graph.add_output("y", x + (c * 2.0 + c));
  PassContext context;
  EXPECT_EQ(fold(graph, context), 2);
  verify(graph);
  const auto added = std::get<Value>(graph.outputs()[0].value.node()->args[1]);
  ASSERT_EQ(added.node()->kind, NodeKind::kConstant);
  const Tensor folded = materialize(*added.node()->data);
  EXPECT_EQ(folded.values<float>()[0], 3.0F);
  EXPECT_EQ(folded.values<float>()[1], 6.0F);
}

TEST(Fold, ReadsRangesButKeepsThemAsOps) {
  Graph graph;
  const Value range = arange(graph, 0, 4);
  graph.add_output("plain", range);
  graph.add_output("column", unsqueeze(range, 1));
  PassContext context;
  EXPECT_EQ(fold(graph, context), 1);
  EXPECT_EQ(graph.outputs()[0].value.node()->kind, NodeKind::kOp);
  EXPECT_EQ(graph.outputs()[1].value.node()->kind, NodeKind::kConstant);
  EXPECT_EQ(graph.outputs()[1].value.type(), (ValueType{DType::kI64, {4, 1}}));
}

TEST(Fold, LeavesSymbolicSizesAndLargeResults) {
  Graph graph;
  graph.add_output("symbolic", unsqueeze(arange(graph, 0, Sym::symbol("s")), 1));
  graph.add_output("large", unsqueeze(arange(graph, 0, 1025), 1));
  graph.add_output("largest", unsqueeze(arange(graph, 0, 1024), 1));
  PassContext context;
  EXPECT_EQ(fold(graph, context), 1);
  EXPECT_EQ(graph.outputs()[2].value.node()->kind, NodeKind::kConstant);
}

TEST(Fold, LeavesWeights) {
  Graph graph;
  const Value w = graph.add_weight("w", lazy_constant(Tensor::of<float>({2}, {1, 2})));
  graph.add_output("y", neg(w));
  PassContext context;
  EXPECT_EQ(fold(graph, context), 0);
}

TEST(Fold, ANumberThatADoubleCannotHoldIsLeftWithAReason) {
  Graph graph;
  const Value big = graph.constant(Tensor::of<int64_t>({1}, {(int64_t{1} << 53) + 1}));
  graph.add_output("y", neg(big));
  PassContext context;
  EXPECT_EQ(fold(graph, context), 0);
  ASSERT_EQ(context.reasons().size(), 1u);
  EXPECT_EQ(context.reasons()[0].rule, "fold");
}

}  // namespace
}  // namespace slipway

// Delegates: what they take, that they can be called one after the other, the report.
#include "backends/executorch/partition.h"

#include <gtest/gtest.h>

#include "backends/executorch/lower.h"
#include "backends/executorch/xnnpack_lower.h"
#include "base/test_expect.h"
#include "ir/parse.h"

namespace slipway::executorch {
namespace {

std::unique_ptr<Graph> lowered(const std::string& text) {
  ExportedProgram program;
  program.graph = parse_graph(text);
  return lower(program);
}

std::vector<std::string> names(const Partition& part) {
  std::vector<std::string> result;
  for (const Node* node : part.nodes) result.push_back(node->op->name());
  return result;
}

TEST(Partition, TakesWhatIsConnected) {
  const auto graph = lowered(R"(dims: b in 1..4
graph(%x: f32[b, 4], %y: f32[b, 4]) {
  %0: f32[b, 4] = aten::add.Tensor(%x, %y)
  %1: f32[b, 4] = aten::tanh(%0)
  %2: f32[b, 4] = aten::mul.Tensor(%1, %0)
  return z=%2
})");
  const std::vector<Partition> parts = partition(*graph);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(names(parts[0]),
            (std::vector<std::string>{"et::add.out", "et::tanh.out", "et::mul.out"}));
  EXPECT_EQ(parts[0].inputs.size(), 2u);
  EXPECT_EQ(parts[0].outputs.size(), 1u);
  xnnpack::verify(parts[0].delegate.graph);
}

/// exp may join sin or the last sum, not both: erf is between them.
TEST(Partition, LeavesNothingBetweenItsNodes) {
  const auto graph = lowered(R"(graph(%x: f32[4]) {
  %0: f32[4] = aten::sin(%x)
  %1: f32[4] = aten::erf(%0)
  %2: f32[4] = aten::exp(%0)
  %3: f32[4] = aten::add.Tensor(%1, %2)
  return y=%3
})");
  const std::vector<Partition> parts = partition(*graph);
  ASSERT_EQ(parts.size(), 2u);
  const Method method = emit(*graph, "forward", parts);
  ASSERT_EQ(method.instructions.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<DelegateCall>(method.instructions[0]));
  EXPECT_TRUE(std::holds_alternative<KernelCall>(method.instructions[1]));
  EXPECT_TRUE(std::holds_alternative<DelegateCall>(method.instructions[2]));
}

TEST(Partition, ReshapesAtTheRimStayViews) {
  const auto graph = lowered(R"(dims: s in 1..8
graph(%x: f32[s, 4]) {
  %0: f32[s, 2, 2] = aten::view(%x, [s, 2, 2])
  %1: f32[s, 2, 2] = aten::neg(%0)
  %2: f32[s, 4] = aten::view(%1, [s, 4])
  %3: f32[s, 4] = aten::exp(%2)
  %4: f32[s, 1, 4] = aten::view(%3, [s, 1, 4])
  %5: bool[s, 1, 4] = aten::isnan(%4)
  return y=%5
})");
  const std::vector<Partition> parts = partition(*graph);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(names(parts[0]),
            (std::vector<std::string>{"et::neg.out", "et::view_copy.out", "et::exp.out"}));
}

TEST(Partition, SaysWhatItLeftAndWhy) {
  const auto graph = lowered(R"(dims: b in 1..4, p in 0..9
graph(%x: f32[b, 4], %past: f32[p, 4], %w: f32[4, 4]) {
  %0: f32[b, 4] = aten::linear(%x, %w)
  %1: f32[b + p, 4] = aten::cat([%past, %0])
  %2: f32[b + p, 4] = aten::erf(%1)
  return y=%2
})");
  Delegation report;
  EXPECT_TRUE(partition(*graph, &report).empty());
  const std::string text = report.to_text();
  EXPECT_TRUE(contains(text, "0 delegates, 0.00 % of the multiplications")) << text;
  EXPECT_TRUE(contains(text, "et::linear.out x1: the weight is not static")) << text;
  EXPECT_TRUE(contains(text, "et::cat.out x1: a size may be 0")) << text;
  EXPECT_TRUE(contains(text, "et::erf.out x1: has no node in XNNPACK")) << text;
}

TEST(Partition, ProductsThatStayOutsideAreWrittenAsKernels) {
  const auto graph = lowered(R"(dims: n in 0..4
graph(%x: f32[2, n, 3, 4], %y: f32[2, n, 4, 5]) {
  %0: f32[2, n, 3, 5] = aten::matmul(%x, %y)
  return z=%0
})");
  EXPECT_TRUE(partition(*graph).empty());
  std::vector<std::string> ops;
  for (const Node* node : graph->order())
    if (node->kind == NodeKind::kOp) ops.push_back(node->op->name());
  EXPECT_EQ(ops, (std::vector<std::string>{"et::view_copy.out", "et::view_copy.out", "et::bmm.out",
                                           "et::view_copy.out"}));
}

TEST(Partition, AMeanIsAProductWithEqualWeights) {
  const auto graph = lowered(R"(dims: b in 1..4
graph(%x: f32[b, 8]) {
  %0: f32[b, 1] = aten::mean.dim(%x, [-1], true)
  return y=%0
})");
  const std::vector<Partition> parts = partition(*graph);
  ASSERT_EQ(parts.size(), 1u);
  const xnnpack::Node& node = parts[0].delegate.graph.nodes.at(0);
  EXPECT_EQ(node.kind, xnnpack::NodeKind::kFullyConnected);
  const Tensor weights = materialize(*parts[0].delegate.graph.values[node.inputs[1]].data);
  for (const float w : weights.values<float>()) EXPECT_EQ(w, 0.125F);
}

}  // namespace
}  // namespace slipway::executorch

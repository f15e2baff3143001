// Lowering's parts that no target changes: names in files, targets of reshapes, places of sizes.
#include <gtest/gtest.h>

#include "ir/leaf_names.h"
#include "ir/parse.h"
#include "lowering/file_names.h"
#include "lowering/node_lowering.h"

namespace slipway::lowering {
namespace {

TEST(FileNames, ComeFromTheModulePathAndAreUnique) {
  Graph graph;
  const Value x = graph.add_input("x", {DType::kF32, {2}});
  Value y, z;
  {
    const ScopeGuard scope(graph, "model.layers.0.mlp");
    y = graph.emit("aten::neg", {x});
    z = graph.emit("aten::neg", {y});
  }
  graph.add_output("x", graph.emit("aten::neg", {z}));
  const FileNames names(graph);
  EXPECT_EQ(names.of(x), "input.x");
  EXPECT_EQ(names.of(*y.node()), "/model/layers.0/mlp/neg");
  EXPECT_EQ(names.of(y), "/model/layers.0/mlp/neg_output_0");
  EXPECT_EQ(names.of(*z.node()), "/model/layers.0/mlp/neg_1");
  EXPECT_EQ(names.of(graph.outputs()[0].value), "output.x");
  EXPECT_EQ(names.of(*graph.outputs()[0].value.node()), "/neg");
}

TEST(ReshapeTarget, SaysWhatZeroAndMinusOneCanSay) {
  const Sym b = Sym::symbol("b", 1), s = Sym::symbol("s", 1), p = Sym::symbol("p", 0);
  const ReshapeTarget one = reshape_target({b, s, 32}, {b, s, 4, 8});
  EXPECT_EQ(one.numbers, (std::vector<int64_t>{0, 0, 4, 8}));
  EXPECT_TRUE(one.one_hole);
  EXPECT_FALSE(one.ambiguous);
  EXPECT_EQ(reshape_target({b, s}, {b * s}).numbers, std::vector<int64_t>{-1});
  EXPECT_FALSE(reshape_target({b * s}, {s, b}).one_hole);
  EXPECT_TRUE(reshape_target({b, p}, {b * p}).ambiguous);
  EXPECT_FALSE(reshape_target({b, p}, {b, p, 1}).ambiguous);
  EXPECT_TRUE(reshape_target({b, 0}, {0, b}).ambiguous);
}

TEST(Places, AreThoseOfInputsThatAreReadFirst) {
  const auto graph = parse_graph(R"(dims: b in 1.., s in 1..
graph(%unread: f32[s, b], %x: f32[b, b*s]) {
  %0: f32[b, b*s] = aten::neg(%x)
  return y=%0
})");
  Places places;
  for (Node* input : read_inputs_first(*graph, graph->inputs())) places.add(input->out());
  const SymShape& shape = graph->inputs()[0]->types[0].shape;
  const Sym s = shape[0], b = shape[1];
  ASSERT_NE(places.find(b), nullptr);
  EXPECT_EQ(places.find(b)->tensor.node()->name, "x");
  EXPECT_EQ(places.find(b)->axis, 0);
  EXPECT_EQ(places.find(s)->tensor.node()->name, "unread");
  EXPECT_EQ(places.find(b * s)->axis, 1);
  EXPECT_EQ(places.find(b + s), nullptr);
  EXPECT_TRUE(places.has(b + s));
  EXPECT_FALSE(places.has(Sym::symbol("other", 1)));
}

}  // namespace
}  // namespace slipway::lowering

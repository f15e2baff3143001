// Lowering: kernels, sizes as expressions, writes in place, products of stored matrices, refusals.
#include "backends/executorch/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/test_expect.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace slipway::executorch {
namespace {

std::unique_ptr<Graph> lowered(const std::string& text,
                               std::vector<std::string>* dropped = nullptr) {
  ExportedProgram program;
  program.graph = parse_graph(text);
  return lower(program, dropped);
}

/// Expects that the graph lowers to this text.
void expect_lowers(const std::string& text, const std::string& wanted) {
  const auto graph = lowered(text);
  EXPECT_EQ(print(*graph), wanted + "\n");
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp) names.push_back(node->op->name());
  return names;
}

TEST(ExecutorchLower, KeepsSizesAsExpressions) {
  expect_lowers(R"(dims: b in 1..4, s in 1..8
graph(%x: f32[b, s, 32]) {
  %0: f32[b, s, 4, 8] = aten::view(%x, [b, s, 4, 8])
  %1: f32[b, 4, s, 8] = aten::transpose.int(%0, 1, 2)
  %2: f32[b, 4, s - 1, 8] = aten::slice.Tensor(%1, 2, 1)
  return y=%2
})",
                R"(dims: b in 1..4, s in 1..8
graph(%x: f32[b, s, 32]) {
  %0: f32[b, s, 4, 8] = et::view_copy.out(%x, [b, s, 4, 8])
  %1: f32[b, 4, s, 8] = et::permute_copy.out(%0, [0, 2, 1, 3])
  %2: f32[b, 4, s - 1, 8] = et::slice_copy.Tensor_out(%1, 2, 1, 9223372036854775807)
  return y=%2
})");
}

TEST(ExecutorchLower, ConvertsBothSidesToOneDtype) {
  expect_lowers(R"(graph(%x: i64[3], %y: f32[3]) {
  %0: f32[3] = aten::mul.Tensor(%x, %y)
  %1: f32[3] = aten::pow.Tensor_Scalar(%0, 2)
  return z=%1
})",
                R"(graph(%x: i64[3], %y: f32[3]) {
  %0: f32[3] = et::_to_copy.out(%x)
  %1: f32[3] = et::mul.out(%0, %y)
  %2: f32[3] = et::mul.out(%1, %1)
  return z=%2
})");
}

constexpr const char* kCache = R"(dims: b in 1..4, n in 1..16
graph(%cache: f32[b, 2, n, 4], %at: i64[1], %x: f32[b, 2, 1, 4], %count: i64[]) {
  %0: f32[b, 2, n, 4] = slipway::cache_write(%cache, %at, %x)
  %1: f32[b, 2, n, 4] = aten::neg(%0)
  %2: i64[] = aten::add.Scalar(%count, 1)
  return y=%1, cache=%0, count=%2
})";

TEST(ExecutorchLower, WritesTheCallersCacheInPlace) {
  const auto graph = lowered(kCache);
  EXPECT_EQ(ops(*graph), (std::vector<std::string>{"et::index_put_", "et::neg.out", "et::add.out",
                                                   "et::copy_"}));
  const Args write = graph->outputs()[1].value.node()->arguments();
  EXPECT_EQ(write.value(0).node()->name, "cache");
  EXPECT_FALSE(write.values(1)[1].defined());  // all heads
  EXPECT_EQ(graph->outputs()[2].value.node()->arguments().value(0).node()->name, "count");
}

TEST(ExecutorchLower, AWriteWaitsWhereTheOldContentsAreReadToo) {
  const auto graph = lowered(R"(graph(%cache: f32[1, 2, 8, 4], %at: i64[1], %x: f32[1, 2, 1, 4]) {
  %0: f32[1, 2, 8, 4] = slipway::cache_write(%cache, %at, %x)
  %1: f32[1, 2, 8, 4] = aten::sub.Tensor(%0, %cache)
  return y=%1, cache=%0
})");
  EXPECT_EQ(ops(*graph),
            (std::vector<std::string>{"et::index_put.out", "et::sub.out", "et::copy_"}));
}

TEST(ExecutorchLower, AttentionAddsAFiniteBiasAndTurnsNoKeys) {
  const auto graph = lowered(R"(dims: b in 1..4, s in 1..8, t in 1..16
graph(%q: f32[b, 4, s, 8], %k: f32[b, 2, t, 8], %v: f32[b, 2, t, 8], %m: bool[b, 1, s, t]) {
  %0: f32[b, 4, s, 8] = slipway::attention(%q, %k, %v, %m, 0.25)
  return y=%0
})");
  const std::vector<std::string> found = ops(*graph);
  EXPECT_EQ(std::count(found.begin(), found.end(), "et::matmul"), 2);
  EXPECT_EQ(std::count(found.begin(), found.end(), "et::where.self_out"), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "et::permute_copy.out"), 0);
  for (const Node* node : graph->order()) {
    if (node->kind != NodeKind::kConstant || !node->types[0].shape.empty()) continue;
    EXPECT_TRUE(std::isfinite(materialize(*node->data).values<float>()[0]));
  }
}

TEST(ExecutorchLower, StoredMatricesAreTurnedInTheFile) {
  ExportedProgram program;
  Graph& g = *program.graph;
  const Value x = g.add_input("x", {DType::kF32, {3, 4}});
  const Value w = g.add_weight("w", lazy_constant(Tensor(DType::kF32, {4, 5})));
  const Value experts = g.add_weight("experts", lazy_constant(Tensor(DType::kF32, {2, 5, 4})));
  const Value turned = g.emit("aten::transpose.int", {experts, 1, 2});
  g.add_output("y", g.emit("aten::matmul", {x, w}));
  g.add_output("z", g.emit("aten::matmul", {x, g.emit("aten::select.int", {turned, 0, 1})}));
  const auto graph = lower(program);
  EXPECT_EQ(ops(*graph), (std::vector<std::string>{"et::linear.out", "et::linear.out"}));
  const SymShape wanted = {5, 4};
  for (const Node* weight : graph->weights()) EXPECT_EQ(weight->types[0].shape, wanted);
}

/// Fewer rows than experts: the matrices of the rows are gathered. Else every expert is one
/// product.
TEST(ExecutorchLower, ExpertsAreGatheredWhereMostHaveNoRow) {
  const auto products = [](int64_t most_rows) {
    ExportedProgram program;
    Graph& g = *program.graph;
    const Sym rows = Sym::symbol("rows", 1, most_rows);
    const Value x = g.add_input("x", {DType::kF32, {rows, 4}});
    const Value ends = g.add_input("ends", {DType::kI64, {3}});
    const Value experts = g.add_weight("experts", lazy_constant(Tensor(DType::kF32, {3, 5, 4})));
    const Value turned = g.emit("aten::transpose.int", {experts, 1, 2});
    g.add_output("y", g.emit("slipway::grouped_mm", {x, turned, ends}));
    std::map<std::string, int64_t> counts;
    for (const std::string& op : ops(*lower(program))) ++counts[op];
    EXPECT_EQ(counts.count("et::permute_copy.out"), 0u);
    return std::pair(counts["et::matmul"], counts["et::linear.out"]);
  };
  EXPECT_EQ(products(3), (std::pair<int64_t, int64_t>(1, 0)));
  EXPECT_EQ(products(4), (std::pair<int64_t, int64_t>(0, 3)));
}

TEST(ExecutorchLower, KeepsInputsWhoseSizesAreNeeded) {
  std::vector<std::string> dropped;
  lowered(R"(dims: n in 1..9
graph(%x: f32[n], %unused: f32[3]) {
  %0: i64[n] = aten::arange.start_step(0, n)
  return y=%0
})",
          &dropped);
  EXPECT_EQ(dropped, std::vector<std::string>{"unused"});
}

TEST(ExecutorchLower, ListsEveryOpAndFormThatHasNoKernel) {
  const std::string error = error_of(kUnsupported, [] {
    lowered(R"(graph(%x: f32[2, 3, 4, 4], %i: i64[2, 3, 4, 4]) {
  %0: f32[2, 3, 8, 8] = aten::upsample_bicubic2d.vec(%x, [8, 8], false, None)
  %1: f32[2, 3, 4, 4] = aten::scatter_reduce.two(%x, 0, %i, %x, "amax")
  %2: f32[2, 3, 4, 4] = aten::scatter_reduce.two(%1, 0, %i, %x, "amax")
  return y=%0, z=%2
})");
  });
  EXPECT_TRUE(contains(error,
                       "2 ops have no lowering: aten::scatter_reduce.two (reduce=\"amax\") "
                       "x2, aten::upsample_bicubic2d.vec x1"))
      << error;
}

}  // namespace
}  // namespace slipway::executorch

// Lowering: shapes without arithmetic, sizes from inputs, refusals.
#include "backends/onnx/lower.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace slipway::onnx {
namespace {

std::map<std::string, int64_t> counts(const Graph& graph) {
  std::map<std::string, int64_t> result;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp) ++result[node->op->name()];
  return result;
}

std::unique_ptr<Graph> lowered(const std::string& text, std::vector<std::string>* dropped = nullptr,
                               int64_t opset = 20) {
  ExportedProgram program;
  program.graph = parse_graph(text);
  return lower(program, {.opset_version = opset}, dropped);
}

TEST(Lower, ReshapesWithoutShapeArithmeticWhereOneSizeIsUnknown) {
  const auto graph = lowered(R"(dims: b in 1.., s in 1..
graph(%x: f32[b, s, 32]) {
  %0: f32[b, s, 4, 8] = aten::view(%x, [b, s, 4, 8])
  %1: f32[b, 4, s, 8] = aten::transpose.int(%0, 1, 2)
  return y=%1
})");
  EXPECT_EQ(counts(*graph),
            (std::map<std::string, int64_t>{{"onnx::Reshape", 1}, {"onnx::Transpose", 1}}));
}

TEST(Lower, TakesSizesFromTheInputThatHasThem) {
  const auto graph = lowered(R"(dims: b in 1.., s in 1.., p in 0..
graph(%x: f32[b, s], %m: i64[b, p + s]) {
  %0: i64[p + s] = aten::arange.start_step(0, p + s)
  %1: i64[b, p + s] = aten::add.Tensor(%m, %0)
  return y=%1
})");
  EXPECT_EQ(counts(*graph)["onnx::Shape"], 1);
  EXPECT_EQ(counts(*graph)["onnx::Add"], 1);
}

TEST(Lower, DropsInputsThatNothingReads) {
  std::vector<std::string> dropped;
  lowered("graph(%x: f32[2], %unused: f32[3]) {\n  %0: f32[2] = aten::neg(%x)\n  return y=%0\n}",
          &dropped);
  EXPECT_EQ(dropped, std::vector<std::string>{"unused"});
}

TEST(Lower, GeluIsAnOpFromOpset20) {
  const std::string text = "graph(%x: f32[2]) {\n  %0: f32[2] = aten::gelu(%x)\n  return y=%0\n}";
  EXPECT_EQ(counts(*lowered(text))["onnx::Gelu"], 1);
  EXPECT_EQ(counts(*lowered(text, nullptr, 18))["onnx::Erf"], 1);
}

TEST(Lower, ExpandsOpsThatHaveOnlyABody) {
  const auto graph = lowered(R"(dims: s in 1..
graph(%x: f32[1, 2, s, 8], %cos: f32[1, s, 4], %sin: f32[1, s, 4]) {
  %0: f32[1, 2, s, 8] = slipway::rotary_embedding(%x, %cos, %sin)
  return y=%0
})");
  EXPECT_EQ(counts(*graph)["onnx::Mul"], 4);
  EXPECT_EQ(counts(*graph)["onnx::Concat"], 1);
}

/// Three matrices of experts, as they are or turned around, in products by group.
std::unique_ptr<Graph> experts(bool turned, bool read_otherwise) {
  ExportedProgram program;
  Graph& g = *program.graph;
  const Value x = g.add_input("x", {DType::kF32, {Sym::symbol("n"), 4}});
  const Value ends = g.add_input("ends", {DType::kI32, {3}});
  const Value w = g.add_weight("w", lazy_constant(Tensor(DType::kF32, {3, 4, 4})));
  const Value matrices = turned ? g.emit("aten::transpose.int", {w, 1, 2}) : w;
  g.add_output("y", g.emit("slipway::grouped_mm", {x, matrices, ends}));
  if (read_otherwise) g.add_output("z", g.emit("aten::neg", {w}));
  return lower(program, {});
}

TEST(Lower, CutsTheMatricesOfExpertsOutOfTheirWeight) {
  for (const bool turned : {false, true}) {
    const auto graph = experts(turned, false);
    std::vector<std::string> names;
    for (const Node* weight : graph->weights()) {
      names.push_back(weight->name);
      EXPECT_EQ(weight->types[0].shape, (SymShape{4, 4}));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"w.0", "w.1", "w.2"}));
    EXPECT_EQ(counts(*graph)["onnx::MatMul"], 3);
    EXPECT_EQ(counts(*graph)["onnx::Gather"], 0);
  }
  const auto whole = experts(false, true);
  EXPECT_EQ(whole->weights().size(), 1u);
  EXPECT_EQ(counts(*whole)["onnx::Gather"], 3);
}

TEST(Lower, ListsEveryOpThatItLacksOnce) {
  static const OpRow kUnknown[] = {
      {.schema = "test::roll(Tensor self) -> Tensor",
       .infer = [](const Args& a) -> std::vector<ValueType> { return {a.type(0)}; }}};
  register_ops(kUnknown);
  ExportedProgram program;
  const Value x = program.graph->add_input("x", {DType::kF32, {2}});
  const Value y = program.graph->emit("test::roll", {x});
  program.graph->add_output("y", program.graph->emit("test::roll", {y}));
  try {
    lower(program, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kUnsupported);
    EXPECT_NE(std::string(error.what()).find("test::roll x2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace slipway::onnx

// Lowering: shapes that plug-ins fuse, sizes from inputs, caches as variables, refusals.
#include "backends/openvino/lower.h"

#include <gtest/gtest.h>

#include "backends/openvino/states.h"
#include "base/test_expect.h"
#include "ir/parse.h"

namespace slipway::openvino {
namespace {

std::map<std::string, int64_t> counts(const Graph& graph) {
  std::map<std::string, int64_t> result;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp) ++result[node->op->name()];
  return result;
}

std::unique_ptr<Graph> lowered(const std::string& text, const LowerOptions& options = {},
                               std::vector<std::string>* dropped = nullptr) {
  ExportedProgram program;
  program.graph = parse_graph(text);
  return lower(program, options, dropped);
}

TEST(OpenVINOLower, ReshapesWithoutShapeArithmeticWhereOneSizeIsUnknown) {
  const auto graph = lowered(R"(dims: b in 1.., s in 1..
graph(%x: f32[b, s, 32]) {
  %0: f32[b, s, 4, 8] = aten::view(%x, [b, s, 4, 8])
  %1: f32[b, 4, s, 8] = aten::transpose.int(%0, 1, 2)
  return y=%1
})");
  EXPECT_EQ(counts(*graph),
            (std::map<std::string, int64_t>{{"ov::Reshape", 1}, {"ov::Transpose", 1}}));
}

TEST(OpenVINOLower, TakesSizesFromTheInputThatHasThem) {
  const auto graph = lowered(R"(dims: b in 1.., s in 1.., p in 0..
graph(%x: f32[b, s], %m: i64[b, p + s]) {
  %0: i64[p + s] = aten::arange.start_step(0, p + s)
  %1: i64[b, p + s] = aten::add.Tensor(%m, %0)
  return y=%1
})");
  EXPECT_EQ(counts(*graph)["ov::ShapeOf"], 1);
  EXPECT_EQ(counts(*graph)["ov::Add"], 1);
}

TEST(OpenVINOLower, DropsInputsThatNothingReads) {
  std::vector<std::string> dropped;
  lowered("graph(%x: f32[2], %unused: f32[3]) {\n  %0: f32[2] = aten::neg(%x)\n  return y=%0\n}",
          {}, &dropped);
  EXPECT_EQ(dropped, std::vector<std::string>{"unused"});
}

TEST(OpenVINOLower, LinearReadsTheWeightAsItIsStored) {
  const auto graph = lowered(R"(dims: s in 1..
graph(%x: f32[s, 4], %w: f32[8, 4]) {
  %0: f32[s, 8] = aten::linear(%x, %w)
  return y=%0
})");
  EXPECT_EQ(counts(*graph), (std::map<std::string, int64_t>{{"ov::MatMul", 1}}));
  EXPECT_TRUE(graph->outputs()[0].value.node()->arguments().flag(3));  // transpose_b
}

TEST(OpenVINOLower, ComputesSixteenBitFloatsAsFloat32) {
  const auto graph = lowered(
      "graph(%x: bf16[2], %y: f16[2]) {\n  %0: bf16[2] = aten::neg(%x)\n"
      "  %1: f32[2] = aten::add.Tensor(%0, %y)\n  return a=%0, b=%1\n}");
  for (const Node* input : graph->inputs()) EXPECT_EQ(input->types[0].dtype, DType::kF32);
  EXPECT_EQ(counts(*graph)["ov::Convert"], 0);
}

TEST(OpenVINOLower, StoredSixteenBitWeightsAreConvertedWhereTheyAreRead) {
  ExportedProgram program;
  Graph& g = *program.graph;
  const Value x = g.add_input("x", {DType::kBF16, {3, 4}});
  const Value w = g.add_weight("w", lazy_constant(Tensor(DType::kBF16, {8, 4})));
  g.add_output("y", g.emit("aten::linear", {x, w}));
  g.add_output("z", g.emit("aten::neg", {w}));
  const auto graph = lower(program);
  EXPECT_EQ(graph->weights().at(0)->types[0].dtype, DType::kBF16);
  EXPECT_EQ(counts(*graph)["ov::Convert"], 1);
}

TEST(OpenVINOLower, AttentionStaysOneOpWithANumericMask) {
  const auto graph = lowered(R"(dims: b in 1.., s in 1.., t in 1..
graph(%q: f32[b, 4, s, 8], %k: f32[b, 2, t, 8], %v: f32[b, 2, t, 8], %m: bool[b, 1, s, t]) {
  %0: f32[b, 4, s, 8] = slipway::attention(%q, %k, %v, %m, 0.25)
  return y=%0
})");
  const auto found = counts(*graph);
  EXPECT_EQ(found.at("ov::ScaledDotProductAttention"), 1);
  EXPECT_EQ(found.at("ov::Select"), 1);
  EXPECT_EQ(found.at("ov::Broadcast"), 2);  // keys and values for their groups
  EXPECT_EQ(found.count("ov::ShapeOf"), 0u);
  EXPECT_EQ(found.count("ov::SoftMax"), 0u);
}

std::string masked(const std::string& mask) {
  return R"(dims: b in 1.., s in 1.., p in 0..
graph(%q: f32[b, 2, s, 8], %past: f32[b, 2, p, 8], %attention_mask: i64[b, p + s]) {
  %0: f32[b, 2, p + s, 8] = slipway::cache_append(%past, %q)
  %1: bool[b, 1, s, p + s] = )" +
         mask + R"(
  %2: f32[b, 2, s, 8] = slipway::attention(%q, %0, %0, %1, 0.25)
  return y=%2
})";
}

// The chain that OpenVINO's transformation to paged attention looks for, from the attention back.
TEST(OpenVINOLower, AWindowIsWrittenAsPagingKnowsIt) {
  const auto graph = lowered(masked("slipway::causal_mask(%attention_mask, s, 4)"));
  const Node* attention = graph->outputs()[0].value.node();
  const auto operand = [](const Node* node, size_t i) { return node->arguments().value(i).node(); };
  const Node* at = operand(attention, 3);
  std::vector<std::string> chain;
  for (const size_t next : {0, 0, 0, 0, 1, 0, 1}) {
    chain.push_back(at->op->name());
    at = operand(at, next);
  }
  EXPECT_EQ(chain,
            (std::vector<std::string>{"ov::Slice", "ov::Select", "ov::Broadcast", "ov::BitwiseAnd",
                                      "ov::BitwiseAnd", "ov::BitwiseAnd", "ov::BitwiseAnd"}));
  EXPECT_EQ(at->op->name(), "ov::Greater");
  EXPECT_EQ(operand(at, 1)->op->name(), "ov::Add");
}

TEST(OpenVINOStates, AttentionIsWhatItsMasksAre) {
  const auto kind = [](const std::string& mask) {
    return attention_kind(*parse_graph(masked(mask)));
  };
  EXPECT_EQ(kind("slipway::causal_mask(%attention_mask, s)"), "causal");
  EXPECT_EQ(kind("slipway::causal_mask(%attention_mask, s, 4)"), "sliding_window");
  EXPECT_EQ(kind("aten::full([b, 1, s, p + s], true)"), "");
}

TEST(OpenVINOLower, RotationIsTheSumOfTwoProducts) {
  const auto graph = lowered(R"(dims: s in 1..
graph(%x: f32[1, 2, s, 8], %cos: f32[1, s, 4], %sin: f32[1, s, 4]) {
  %0: f32[1, 2, s, 8] = slipway::rotary_embedding(%x, %cos, %sin)
  return y=%0
})");
  EXPECT_EQ(counts(*graph)["ov::Multiply"], 3);
  EXPECT_EQ(counts(*graph)["ov::Add"], 1);
  EXPECT_EQ(counts(*graph)["ov::Slice"], 2);
}

constexpr const char* kCached = R"(dims: b in 1.., s in 1.., p in 0..
graph(%x: f32[b, 2, s, 4], %m: i64[b, p + s], %past_key_values.layers.0.keys: f32[b, 2, p, 4]) {
  %0: f32[b, 2, p + s, 4] = aten::cat([%past_key_values.layers.0.keys, %x], 2)
  %1: i64[b, p + s] = aten::neg(%m)
  return y=%1, past_key_values.layers.0.keys=%0
})";

TEST(OpenVINOLower, CachesStayInputsAndOutputsUnlessAsked) {
  const auto graph = lowered(kCached);
  EXPECT_EQ(graph->inputs().size(), 3u);
  EXPECT_EQ(counts(*graph).count("ov::ReadValue"), 0u);
}

TEST(OpenVINOLower, CachesBecomeVariablesThatBeamsReorder) {
  const auto graph = lowered(kCached, {.caches = Caches::kVariables});
  std::vector<std::string> inputs;
  for (const Node* input : graph->inputs()) inputs.push_back(input->name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "m", "beam_idx"}));
  ASSERT_EQ(graph->outputs().size(), 2u);
  const std::string id = "past_key_values.0.keypresent.0.key";
  EXPECT_EQ(graph->outputs()[1].name, id);
  const Node* assign = graph->outputs()[1].value.node();
  EXPECT_TRUE(assign->op->has(kSink));
  const Node* concat = assign->arguments().value(0).node();
  const Node* gather = concat->arguments().values(0)[0].node();
  EXPECT_EQ(gather->op->name(), "ov::Gather");
  const Node* read = gather->arguments().value(0).node();
  EXPECT_EQ(read->op->name(), "ov::ReadValue");
  EXPECT_EQ(read->arguments().text(1), id);
  EXPECT_EQ(read->arguments().text(3), "?,2,?,4");
  const ValueType& first = read->arguments().value(0).type();
  EXPECT_EQ(first.shape[2], Sym(0));
}

TEST(OpenVINOLower, AVariableNeedsASizeThatAnInputHas) {
  const std::string error = error_of(kUnsupported, [] {
    lowered(R"(dims: b in 1..
graph(%x: f32[2], %cache.layers.0.state: f32[b, 2]) {
  %0: f32[b, 2] = aten::add.Tensor(%cache.layers.0.state, %x)
  return cache.layers.0.state=%0
})",
            {.caches = Caches::kVariables});
  });
  EXPECT_TRUE(contains(error, "its size b is no size of another input")) << error;
}

TEST(OpenVINOLower, ListsEveryOpThatItLacksOnce) {
  static const OpRow kUnknown[] = {
      {.schema = "test::spin(Tensor self) -> Tensor",
       .infer = [](const Args& a) -> std::vector<ValueType> { return {a.type(0)}; }}};
  register_ops(kUnknown);
  ExportedProgram program;
  const Value x = program.graph->add_input("x", {DType::kF32, {2}});
  const Value y = program.graph->emit("test::spin", {x});
  program.graph->add_output("y", program.graph->emit("test::spin", {y}));
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { lower(program); }), "test::spin x2"));
}

}  // namespace
}  // namespace slipway::openvino

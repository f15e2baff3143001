// Every op row against the numbers of PyTorch (tests/golden/ops).
#include "ir/eval.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/ops/op_cases.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace slipway {
namespace {

using op_cases::Golden;
using op_cases::goldens;

void expect_near(const Golden& golden, const Graph& graph, double roundings) {
  ASSERT_EQ(graph.outputs().size(), golden.outputs.size()) << golden.text;
  const auto outputs = evaluate(graph, golden.inputs);
  for (const auto& [name, tensor] : outputs) op_cases::expect_near(golden, name, tensor, roundings);
}

const Node* only_op(const Graph& graph) { return graph.outputs().at(0).value.node(); }

TEST(Eval, GivesWhatPyTorchGives) {
  ASSERT_GT(goldens().size(), 600u);
  for (const Golden& golden : goldens()) {
    try {
      const auto graph = parse_graph(golden.text);
      verify(*graph);
      // An op without an evaluation runs its body: a few roundings more. PyTorch computes the
      // places that resizing reads in float32.
      const bool resizes = golden.op.starts_with("aten::upsample");
      const double roundings = resizes ? 6 : only_op(*graph)->op->row.eval != nullptr ? 1 : 3;
      expect_near(golden, *graph, roundings);
    } catch (const Error& error) {
      ADD_FAILURE() << golden.text << "\n" << error.what();
    }
  }
}

TEST(Eval, TextsReadBackAlike) {
  for (const Golden& golden : goldens()) {
    const auto graph = parse_graph(golden.text);
    const std::string text = print(*graph);
    EXPECT_EQ(print(*parse_graph(text)), text);
  }
}

TEST(Eval, BodiesGiveWhatTheOpsGive) {
  std::set<std::string> tested;
  for (const Golden& golden : goldens()) {
    const auto graph = parse_graph(golden.text);
    const Node* node = only_op(*graph);
    if (node->op->row.body == nullptr) continue;
    try {
      const std::vector<Value> results = node->op->row.body(node->arguments());
      ASSERT_EQ(results.size(), graph->outputs().size()) << golden.text;
      for (size_t i = 0; i < results.size(); ++i) graph->outputs()[i].value = results[i];
      verify(*graph);
      expect_near(golden, *graph, 4);
    } catch (const Error& error) {
      ADD_FAILURE() << golden.text << "\n" << error.what();
    }
    tested.insert(golden.op);
  }
  for (const Op* op : all_ops())
    if (op->row.body != nullptr) {
      EXPECT_EQ(tested.count(op->name()), 1u) << op->name();
    }
}

TEST(Eval, EveryRowHasACase) {
  std::set<std::string> tested;
  for (const Golden& golden : goldens()) tested.insert(golden.op);
  for (const Op* op : all_ops()) {
    const bool ours = op->name().starts_with("aten::") || op->name().starts_with("slipway::");
    if (!ours) continue;
    EXPECT_EQ(tested.count(op->name()), 1u) << op->name() << ": add it to generate.py";
    EXPECT_TRUE(op->row.eval != nullptr || op->row.body != nullptr) << op->name();
  }
}

std::string refusal(const char* text, const std::map<std::string, Tensor>& inputs) {
  try {
    evaluate(*parse_graph(text), inputs);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), kInternal) << error.what();
    return error.what();
  }
  return "";
}

TEST(Eval, RefusesInputsThatDoNotFit) {
  const char* const text =
      "dims: n in 1..4 graph(%x: f32[n, n + 1]) { %y = aten::neg(%x) return y=%y }";
  const auto f32 = [](Shape shape) { return Tensor(DType::kF32, std::move(shape)); };
  EXPECT_EQ(refusal(text, {{"x", f32({2, 3})}}), "");
  EXPECT_EQ(refusal(text, {}), "[eval] no tensor for 'x'");
  EXPECT_EQ(refusal(text, {{"x", f32({2, 2})}}),
            "[eval] input 'x' has size 2 in dimension 1, need n + 1 = 3");
  EXPECT_EQ(refusal(text, {{"x", f32({5, 6})}}),
            "[eval] input 'x' has size 5 in dimension 0, need n in 1..4");
  EXPECT_EQ(refusal(text, {{"x", f32({2})}}), "[eval] input 'x' is f32[2], need f32[n, n + 1]");
  EXPECT_EQ(refusal(text, {{"x", Tensor(DType::kF64, {2, 3})}}),
            "[eval] input 'x' is f64[2, 3], need f32[n, n + 1]");
}

TEST(Eval, RefusesIndicesOutsideTheTable) {
  const char* const text =
      "graph(%w: f32[3, 2], %i: i64[1]) { %y = aten::embedding(%w, %i) return y=%y }";
  const Tensor w(DType::kF32, {3, 2});
  EXPECT_EQ(refusal(text, {{"w", w}, {"i", Tensor::of<int64_t>({1}, {3})}}),
            "[eval] aten::embedding: need indices below 3, got 3");
  EXPECT_EQ(refusal(text, {{"w", w}, {"i", Tensor::of<int64_t>({1}, {-1})}}),
            "[eval] aten::embedding: need indices below 3, got -1");
}

TEST(Eval, RefusesWhatDoublesCannotHold) {
  const char* const text = "graph(%x: i64[1]) { %y = aten::neg(%x) return y=%y }";
  EXPECT_NE(refusal(text, {{"x", Tensor::of<int64_t>({1}, {(int64_t{1} << 53) + 2})}}), "");
  EXPECT_NE(refusal("graph() { %y = aten::full([1000000, 1000000], 0.0) return y=%y }", {}), "");
}

TEST(Eval, SizesThatOnlyInputsDecideAreChecked) {
  const char* const text =
      "graph(%x: f32[a], %y: f32[b]) { %z = aten::matmul(%x, %y) return z=%z }";
  EXPECT_NE(refusal(text, {{"x", Tensor(DType::kF32, {2})}, {"y", Tensor(DType::kF32, {3})}}), "");
}

TEST(Eval, ArraysKeepEveryEightBitFloat) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    Tensor codes(dtype, {256});
    for (int i = 0; i < 256; ++i) codes.mutable_data()[i] = std::byte(i);
    const Array array = Array::from_tensor(codes);
    const Tensor again = array.to_tensor();
    for (int i = 0; i < 256; ++i) {
      if (std::isnan(array.values[static_cast<size_t>(i)])) continue;
      EXPECT_EQ(again.data()[i], std::byte(i));
    }
  }
  Array halfway{DType::kF8E4M3, {4}, {1.0625, 1.1875, 464.0, 500.0}};
  halfway.round();
  EXPECT_EQ(halfway.values[0], 1.0);  // ties go to the even code
  EXPECT_EQ(halfway.values[1], 1.25);
  EXPECT_EQ(halfway.values[2], 448.0);
  EXPECT_TRUE(std::isnan(halfway.values[3]));
}

}  // namespace
}  // namespace slipway

// Every op row against the numbers of PyTorch (tests/golden/ops).
#include "ir/eval.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "base/json.h"
#include "ir/parse.h"
#include "ir/verify.h"

namespace slipway {
namespace {

struct Golden {
  std::string op;
  std::string text;
  std::map<std::string, Tensor> inputs;
  Tensor output;
};

double number(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

Tensor tensor(const Json& json) {
  Array array;
  array.dtype = dtype_from_short_name(json.at("dtype").get<std::string>()).value();
  array.shape = json.at("shape").get<Shape>();
  for (const Json& v : json.at("values")) array.values.push_back(number(v));
  array.round();
  return array.to_tensor();
}

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> cases = [] {
    std::vector<Golden> found;
    std::ifstream file(std::string(SLIPWAY_SOURCE_DIR) + "/tests/golden/ops/cases.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = parse_json(line, "cases.jsonl");
      Golden golden{json.at("op").get<std::string>(),
                    json.at("graph").get<std::string>(),
                    {},
                    tensor(json.at("output"))};
      for (const auto& [name, value] : json.at("inputs").items())
        golden.inputs[name] = tensor(value);
      found.push_back(std::move(golden));
    }
    return found;
  }();
  return cases;
}

/// One rounding of the dtype, relative to the larger of 1 and the value.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-14;
    case DType::kF32:
      return 5e-7;
    case DType::kF16:
      return 1e-3;
    case DType::kBF16:
      return 8e-3;
    default:
      return 0;
  }
}

void expect_near(const Golden& golden, const Tensor& got, double roundings) {
  const Tensor& want = golden.output;
  ASSERT_EQ(got.dtype(), want.dtype()) << golden.text;
  ASSERT_EQ(got.shape(), want.shape()) << golden.text;
  const Array x = Array::from_tensor(want), y = Array::from_tensor(got);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double p = x.values[i], q = y.values[i];
    if (p == q || (std::isnan(p) && std::isnan(q))) continue;
    const double allowed = roundings * rounding(want.dtype()) * std::max(1.0, std::fabs(p));
    EXPECT_LE(std::fabs(p - q), allowed)
        << golden.text << "\nelement " << i << ": PyTorch has " << p << ", we have " << q;
  }
}

const Node* only_op(const Graph& graph) { return graph.outputs().at(0).value.node(); }

TEST(Eval, GivesWhatPyTorchGives) {
  ASSERT_GT(goldens().size(), 200u);
  for (const Golden& golden : goldens()) {
    try {
      const auto graph = parse_graph(golden.text);
      verify(*graph);
      // An op without an evaluation runs its body: a few roundings more.
      const double roundings = only_op(*graph)->op->row.eval != nullptr ? 1 : 3;
      expect_near(golden, evaluate(*graph, golden.inputs).at("y"), roundings);
    } catch (const Error& error) {
      ADD_FAILURE() << golden.text << "\n" << error.what();
    }
  }
}

TEST(Eval, BodiesGiveWhatTheOpsGive) {
  std::set<std::string> tested;
  for (const Golden& golden : goldens()) {
    const auto graph = parse_graph(golden.text);
    const Node* node = only_op(*graph);
    if (node->op->row.body == nullptr) continue;
    graph->outputs()[0].value = node->op->row.body(node->arguments()).at(0);
    verify(*graph);
    expect_near(golden, evaluate(*graph, golden.inputs).at("y"), 4);
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

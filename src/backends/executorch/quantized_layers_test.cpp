// Layers of quantized graphs as nodes of XNNPACK, and those that stay as they are.
#include "backends/executorch/quantized_layers.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backends/executorch/lower.h"
#include "backends/executorch/nibbles.h"
#include "backends/executorch/partition.h"
#include "backends/executorch/write.h"
#include "base/test_expect.h"
#include "ir/build.h"

namespace slipway::executorch {
namespace {

using xnnpack::DataType;
using Kind = xnnpack::NodeKind;

constexpr int64_t kOutputs = 96, kInputs = 64;

/// Elements from -8 to 7.
Tensor elements(int64_t rows = kOutputs, int64_t columns = kInputs) {
  Tensor t(DType::kI8, {rows, columns});
  for (size_t i = 0; i < static_cast<size_t>(t.numel()); ++i)
    t.mutable_values<int8_t>()[i] = static_cast<int8_t>(i * 7 % 16) - 8;
  return t;
}

Tensor scales(Shape shape) {
  Tensor t(DType::kF32, std::move(shape));
  for (size_t i = 0; i < static_cast<size_t>(t.numel()); ++i)
    t.mutable_values<float>()[i] = 0.25F * static_cast<float>(i % 3 + 1);
  return t;
}

Tensor zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  std::fill_n(t.mutable_data(), t.nbytes(), std::byte{0});
  return t;
}

/// One layer over f32 [b, 64], being built.
struct Layer {
  ExportedProgram program;
  Value x, bias;

  Layer() {
    program.graph = std::make_unique<Graph>();
    x = g().add_input("x", {DType::kF32, {Sym::symbol("b", 1, 4), kInputs}});
    bias = weight("bias", scales({kOutputs}));
  }
  Graph& g() { return *program.graph; }
  Value weight(const char* name, Tensor t) {
    return g().add_weight(name, lazy_constant(std::move(t)));
  }

  /// x quantized a row at a time by torchao's ops.
  Value rounded() {
    const std::vector<Sym> row = {1, kInputs};
    const auto chosen = g().emit_all(get_op("torchao::choose_qparams_affine"),
                                     {x, "ASYMMETRIC", row, DType::kI8, -128, 127});
    const Value q =
        g().emit("torchao::quantize_affine", {x, row, chosen[0], chosen[1], DType::kI8, -128, 127});
    return g().emit("torchao::dequantize_affine",
                    {q, row, chosen[0], chosen[1], DType::kI8, -128, 127});
  }
  /// x quantized with one scale by torch's ops.
  Value rounded_as_one() {
    const auto chosen = g().emit_all(get_op("quantized_decomposed::choose_qparams.tensor"),
                                     {x, -128, 127, 1e-6, DType::kI8});
    const Value q = g().emit("quantized_decomposed::quantize_per_tensor.tensor",
                             {x, chosen[0], chosen[1], -128, 127, DType::kI8});
    return g().emit("quantized_decomposed::dequantize_per_tensor.tensor",
                    {q, chosen[0], chosen[1], -128, 127, DType::kI8});
  }
  Value by_channel(Tensor zero = zeros(DType::kI64, {kOutputs})) {
    return g().emit("quantized_decomposed::dequantize_per_channel",
                    {weight("w", elements()), weight("scales", scales({kOutputs})),
                     weight("zeros", std::move(zero)), 0, -128, 127, DType::kI8});
  }
  Value by_group(int64_t group) {
    return g().emit(
        "torchao::dequantize_affine",
        {weight("w", elements()), std::vector<Sym>{1, group},
         weight("scales", scales({kOutputs, kInputs / group})),
         weight("zeros", zeros(DType::kI8, {kOutputs, kInputs / group})), DType::kI8, -8, 7});
  }

  /// The layer, lowered and delegated. `refused` is what fuse_quantized_layers() gives.
  std::map<std::string, int64_t> refused;
  std::unique_ptr<Graph> lowered;
  std::vector<Partition> parts(Value input, Value matrix) {
    g().add_output("y", linear(input, matrix, bias));
    refused = fuse_quantized_layers(g());
    lowered = lower(program);
    return partition(*lowered);
  }
  /// The delegate's graph, where all of the layer is in one.
  xnnpack::Graph graph(Value input, Value matrix) {
    std::vector<Partition> all = parts(input, matrix);
    EXPECT_EQ(all.size(), 1u);
    EXPECT_TRUE(refused.empty());
    for (const Node* node : lowered->order())
      EXPECT_TRUE(node->kind != NodeKind::kOp || node->op->name() == kQuantizedLinear)
          << node->op->name();
    xnnpack::verify(all.at(0).delegate.graph);
    return all.at(0).delegate.graph;
  }
};

std::vector<Kind> kinds(const xnnpack::Graph& graph) {
  std::vector<Kind> found;
  for (const xnnpack::Node& node : graph.nodes) found.push_back(node.kind);
  return found;
}

TEST(QuantizedLayers, RowsOf8BitsByChannelsOf8) {
  for (const bool as_one : {false, true}) {
    Layer layer;
    const Value input = as_one ? layer.rounded_as_one() : layer.rounded();
    const xnnpack::Graph graph = layer.graph(input, layer.by_channel());
    EXPECT_EQ(kinds(graph), (std::vector<Kind>{Kind::kConvert, Kind::kFullyConnected}));
    EXPECT_EQ(graph.values[graph.nodes[1].inputs[0]].type, DataType::kQdint8);
    const xnnpack::Value& weight = graph.values[graph.nodes[1].inputs[1]];
    EXPECT_EQ(weight.type, DataType::kQcint8);
    const Tensor stored = materialize(*weight.data), want = elements();
    EXPECT_EQ(std::memcmp(stored.data(), want.data(), static_cast<size_t>(want.nbytes())), 0);
    EXPECT_EQ(graph.values[graph.nodes[1].inputs[2]].type, DataType::kFp32);
  }
}

TEST(QuantizedLayers, RowsOf8BitsByGroupsOf4) {
  Layer layer;
  const xnnpack::Graph graph = layer.graph(layer.rounded(), layer.by_group(32));
  EXPECT_EQ(kinds(graph), (std::vector<Kind>{Kind::kConvert, Kind::kFullyConnected}));
  const xnnpack::Value& weight = graph.values[graph.nodes[1].inputs[1]];
  EXPECT_EQ(weight.type, DataType::kQbint4);
  const auto& blocks = std::get<xnnpack::Blockwise>(weight.quantization);
  EXPECT_EQ(blocks.group_size, 32);
  EXPECT_EQ(blocks.scales->dtype(), DType::kBF16);
  const Tensor stored = materialize(*weight.data), want = elements();
  ASSERT_EQ(stored.numel() * 2, want.numel());
  for (size_t i = 0; i < static_cast<size_t>(want.numel()); ++i)
    ASSERT_EQ((stored.values<uint8_t>()[i / 2] >> (i % 2 * 4) & 15) - 8, want.values<int8_t>()[i]);
}

TEST(QuantizedLayers, AGroupOfAWholeRowHasAScaleOfFloat32) {
  Layer layer;
  const xnnpack::Graph graph = layer.graph(layer.rounded(), layer.by_group(kInputs));
  const xnnpack::Value& weight = graph.values[graph.nodes[1].inputs[1]];
  EXPECT_EQ(weight.type, DataType::kQcint4);
  EXPECT_EQ(std::get<xnnpack::PerChannel>(weight.quantization).scales->dtype(), DType::kF32);
}

TEST(QuantizedLayers, TheBiasOfAnInputOfFloat32IsAddedBehind) {
  Layer layer;
  const xnnpack::Graph graph = layer.graph(layer.x, layer.by_channel());
  EXPECT_EQ(kinds(graph), (std::vector<Kind>{Kind::kFullyConnected, Kind::kAdd}));
  EXPECT_EQ(graph.values[graph.nodes[0].inputs[0]].type, DataType::kFp32);
  EXPECT_EQ(graph.values[graph.nodes[0].inputs[1]].type, DataType::kQcint8);
  EXPECT_EQ(graph.nodes[0].inputs[2], xnnpack::kNoValue);
}

TEST(QuantizedLayers, ScalesBehindAProduct) {
  Layer layer;
  const Value matrix = to(transpose(layer.weight("w", elements()), 0, 1), DType::kF32);
  const Value by_output = view(layer.weight("scales", scales({kOutputs, 1})), {Sym(kOutputs)});
  layer.g().add_output("y", matmul(layer.x, matrix) * by_output);
  fuse_quantized_layers(layer.g());
  layer.lowered = lower(layer.program);
  const std::vector<Partition> parts = partition(*layer.lowered);
  ASSERT_EQ(parts.size(), 1u);
  const xnnpack::Graph& graph = parts[0].delegate.graph;
  xnnpack::verify(graph);
  EXPECT_EQ(kinds(graph), (std::vector<Kind>{Kind::kFullyConnected}));
  EXPECT_EQ(graph.values[graph.nodes[0].inputs[1]].type, DataType::kQcint8);
}

/// Of int8 on both sides by fixed parameters: in integers, the bias in steps of 0.5 * 0.25.
TEST(QuantizedLayers, RoundedInputsAndResultsAreIntegers) {
  Layer layer;
  const auto rounded = [&](Value x, double scale, int64_t zero) {
    const Value q = layer.g().emit("quantized_decomposed::quantize_per_tensor",
                                   {x, scale, zero, -128, 127, DType::kI8});
    return layer.g().emit("quantized_decomposed::dequantize_per_tensor",
                          {q, scale, zero, -128, 127, DType::kI8});
  };
  const Value product = linear(rounded(layer.x, 0.5, 3), layer.by_channel(), layer.bias);
  layer.g().add_output("y", rounded(product, 2.0, -1));
  EXPECT_TRUE(fuse_quantized_layers(layer.g()).empty());
  layer.lowered = lower(layer.program);
  std::vector<Partition> parts = partition(*layer.lowered);
  ASSERT_EQ(parts.size(), 1u);
  const xnnpack::Graph& graph = parts[0].delegate.graph;
  xnnpack::verify(graph);
  EXPECT_EQ(kinds(graph),
            (std::vector<Kind>{Kind::kConvert, Kind::kFullyConnected, Kind::kConvert}));
  const xnnpack::Node& node = graph.nodes[1];
  const auto parameters = [&](xnnpack::ValueId id) {
    EXPECT_EQ(graph.values[id].type, DataType::kQint8);
    const auto& q = std::get<xnnpack::PerTensor>(graph.values[id].quantization);
    return std::pair<double, int64_t>(q.scale, q.zero_point);
  };
  EXPECT_EQ(parameters(node.inputs[0]), (std::pair<double, int64_t>(0.5, 3)));
  EXPECT_EQ(parameters(node.outputs[0]), (std::pair<double, int64_t>(2.0, -1)));
  const xnnpack::Value& bias = graph.values[node.inputs[2]];
  EXPECT_EQ(bias.type, DataType::kQcint32);
  const Tensor whole = materialize(*bias.data);
  for (const int32_t steps : whole.values<int32_t>()) EXPECT_EQ(steps, 2);
}

TEST(QuantizedLayers, AreStoredAsTheyAre) {
  Layer layer;
  const std::vector<Partition> parts = layer.parts(layer.rounded(), layer.by_group(32));
  Program program;
  program.methods.push_back(emit(*layer.lowered, "forward", parts));
  EXPECT_EQ(measure(program).weight_bytes, kOutputs * kInputs / 2  // two elements a byte
                                               + kOutputs * 2 * 2  // two scales of bfloat16
                                               + kOutputs * 4);    // the bias
}

TEST(QuantizedLayers, OthersStayAndSayWhy) {
  const auto reason = [](auto make) {
    Layer layer;
    const auto [input, matrix] = make(layer);
    layer.parts(input, matrix);
    EXPECT_EQ(layer.refused.size(), 1u);
    for (const Node* node : layer.lowered->order())
      EXPECT_TRUE(node->kind != NodeKind::kOp || node->op->name() != kQuantizedLinear);
    return layer.refused.empty() ? "" : layer.refused.begin()->first;
  };
  EXPECT_EQ(reason([](Layer& l) {
              Tensor zero = zeros(DType::kI64, {kOutputs});
              zero.mutable_values<int64_t>()[5] = 1;
              return std::pair(l.rounded(), l.by_channel(zero));
            }),
            "the weight's zero point is not 0");
  EXPECT_EQ(reason([](Layer& l) { return std::pair(l.rounded(), l.by_group(16)); }),
            "the weight's groups are not multiples of 32");
  EXPECT_EQ(reason([](Layer& l) { return std::pair(l.x, l.by_group(32)); }),
            "XNNPACK takes scales of groups with 4 bits and a dynamic input only");
  EXPECT_EQ(reason([](Layer& l) {
              const Value q = l.weight("w", elements());
              return std::pair(l.rounded(),
                               l.g().emit("quantized_decomposed::dequantize_per_tensor",
                                          {q, 0.5, 0, -128, 127, DType::kI8}));
            }),
            "the weight has one scale");
}

TEST(QuantizedLayers, ElementsBeyond4BitsAreRefused) {
  Tensor wide = elements(2, 4);
  wide.mutable_values<int8_t>()[5] = 9;
  const Lazy packed = lazy_nibbles(lazy_constant(wide));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { materialize(*packed); }), "has the element 9"));
}

TEST(QuantizedLayers, NibblesAreReadFromAnywhere) {
  const Lazy packed = lazy_nibbles(lazy_constant(elements(4, 6)));
  const Tensor all = materialize(*packed);
  std::vector<std::byte> part(5);
  packed->read(3, 5, part.data());
  EXPECT_EQ(std::memcmp(part.data(), all.data() + 3, 5), 0);
}

}  // namespace
}  // namespace slipway::executorch

// From ops of quantized layers to nodes of XNNPACK.
#include "backends/executorch/quantized_layers.h"
#include "backends/executorch/xnnpack_rows.h"

namespace slipway::executorch {
namespace {

using xnnpack::DataType;
using xnnpack::NodeKind;
using B = XnnpackBuilder;

/// A layer with a quantized weight: the input stays f32 or is quantized a row at a time.
std::string quantized_linear(B& b, const Node& node) {
  const Args a = node.arguments();
  xnnpack::ValueId input = b.operand(a.value(0));
  if (a.flag(4)) {
    const xnnpack::ValueId rows = b.quantized(
        {.type = DataType::kQdint8, .shape = a.type(0).shape, .quantization = xnnpack::PerToken{}});
    b.add({.kind = NodeKind::kConvert, .inputs = {input}, .outputs = {rows}});
    input = rows;
  }
  const Lazy& elements = a.value(1).node()->data;
  const Lazy& scales = a.value(2).node()->data;
  const Sym columns = a.type(0).shape.back();
  xnnpack::Value weight{.shape = {a.type(1).shape[0], columns}, .data = elements};
  if (a.type(2).shape.size() == 2) {
    const int64_t group = columns.value() / a.type(2).shape[1].value();
    weight.type = DataType::kQbint4;
    weight.quantization =
        xnnpack::Blockwise{.scales = scales, .group_size = static_cast<int32_t>(group)};
  } else {
    weight.type = a.type(1).dtype == DType::kU8 ? DataType::kQcint4 : DataType::kQcint8;
    weight.quantization = xnnpack::PerChannel{.scales = scales};
  }
  // With an input of f32 the kernels multiply the bias by the scales too: it is added behind them.
  const bool added = a.has(3) && !a.flag(4);
  xnnpack::ValueId bias = xnnpack::kNoValue;
  if (added) bias = b.stored(a.type(3), a.value(3).node()->data);
  else if (a.has(3)) bias = b.operand(a.value(3));
  const xnnpack::ValueId product = added ? b.inner(node.types[0]) : b.result(result_of(node));
  b.add({.kind = NodeKind::kFullyConnected,
         .inputs = {input, b.quantized(std::move(weight)), added ? xnnpack::kNoValue : bias},
         .outputs = {product}});
  if (added)
    b.add({.kind = NodeKind::kAdd,
           .inputs = {product, bias},
           .outputs = {b.result(result_of(node))}});
  return "";
}

/// In integers: the input, the product and the result are int8.
std::string int8_linear(B& b, const Node& node) {
  const Args a = node.arguments();
  const auto& parameters = std::get<std::vector<double>>(a[5]);
  const auto int8 = [&](const SymShape& shape, size_t first) {
    return b.quantized(
        {.type = DataType::kQint8,
         .shape = shape,
         .quantization = xnnpack::PerTensor{static_cast<float>(parameters[first]),
                                            static_cast<int32_t>(parameters[first + 1])}});
  };
  const auto per_channel = [&](DataType type, const SymShape& shape, size_t data, size_t scales) {
    return b.quantized(
        {.type = type,
         .shape = shape,
         .data = a.value(data).node()->data,
         .quantization = xnnpack::PerChannel{.scales = a.value(scales).node()->data}});
  };
  const xnnpack::ValueId input = int8(a.type(0).shape, 0), product = int8(node.types[0].shape, 2);
  b.add({.kind = NodeKind::kConvert, .inputs = {b.operand(a.value(0))}, .outputs = {input}});
  const xnnpack::ValueId weight = per_channel(DataType::kQcint8, a.type(1).shape, 1, 2);
  const xnnpack::ValueId bias =
      a.has(3) ? per_channel(DataType::kQcint32, a.type(3).shape, 3, 4) : xnnpack::kNoValue;
  b.add({.kind = NodeKind::kFullyConnected, .inputs = {input, weight, bias}, .outputs = {product}});
  b.add({.kind = NodeKind::kConvert, .inputs = {product}, .outputs = {b.result(result_of(node))}});
  return "";
}

/// To 8 bits and back.
std::string round_to(B& b, const Node& node) {
  const Args a = node.arguments();
  const xnnpack::ValueId rounded =
      b.quantized({.type = a.flag(3) ? DataType::kQint8 : DataType::kQuint8,
                   .shape = a.type(0).shape,
                   .quantization = xnnpack::PerTensor{static_cast<float>(a.number(1)),
                                                      static_cast<int32_t>(a.integer(2))}});
  b.add({.kind = NodeKind::kConvert, .inputs = {b.operand(a.value(0))}, .outputs = {rounded}});
  b.add({.kind = NodeKind::kConvert, .inputs = {rounded}, .outputs = {b.result(result_of(node))}});
  return "";
}

constexpr XnnpackRow kRows[] = {
    {kQuantizedLinear, quantized_linear},
    {kInt8Linear, int8_linear},
    {kRoundTo, round_to},
};

}  // namespace

std::span<const XnnpackRow> quantized_rows() { return kRows; }

}  // namespace slipway::executorch

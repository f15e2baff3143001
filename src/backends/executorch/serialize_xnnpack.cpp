// Serializes XNNPACK graphs.
#include "backends/executorch/serialize_xnnpack.h"

#include <map>
#include <set>

#include "slipway/error.h"
#include "xnnpack/schema_generated.h"

namespace slipway::executorch::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr uint32_t kExternalInput = 1, kExternalOutput = 2;  // XNN_VALUE_FLAG_EXTERNAL_*
constexpr size_t kHeader = 30, kAlignment = 16;

class Serializer {
 public:
  Serializer(const Graph& graph, const std::function<std::string(const Lazy&)>& key)
      : graph_(graph) {
    // Number 0 stands for values without data.
    data_.push_back(fb::CreateConstantDataOffsetDirect(builder_, 0, 0, ""));
    for (const Lazy& data : static_data(graph)) {
      data_of_[data.get()] = static_cast<uint32_t>(data_.size());
      data_.push_back(fb::CreateConstantDataOffsetDirect(
          builder_, UINT64_MAX, static_cast<uint64_t>(data->nbytes()), key(data).c_str()));
    }
    for (const ValueId id : graph.inputs) external_[id] = {number(), kExternalInput};
    for (const ValueId id : graph.outputs) external_[id] = {number(), kExternalOutput};
  }

  std::string finish() {
    std::vector<Offset<fb::XValue>> values;
    for (size_t i = 0; i < graph_.values.size(); ++i) values.push_back(value(i));
    std::vector<Offset<fb::XNode>> nodes;
    for (const Node& node : graph_.nodes) nodes.push_back(this->node(node));
    const auto root = fb::CreateXNNGraphDirect(builder_, "0", &nodes, &values, number(),
                                               &graph_.inputs, &graph_.outputs, &data_);
    fb::FinishXNNGraphBuffer(builder_, root);
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  uint32_t number() const { return static_cast<uint32_t>(external_.size()); }
  uint32_t data(const Lazy& data) const { return data ? data_of_.at(data.get()) : 0; }

  Offset<fb::XValue> value(size_t id) {
    const Value& v = graph_.values[id];
    std::vector<uint32_t> dims;
    for (const Sym size : v.shape) dims.push_back(static_cast<uint32_t>(size.bounds().hi));
    const auto at = external_.find(static_cast<ValueId>(id));
    const auto [external, flags] =
        at == external_.end() ? std::pair{kNoValue, uint32_t{0}} : at->second;
    const auto tensor = fb::CreateXNNTensorValueDirect(
        builder_, static_cast<fb::XNNDatatype>(v.type), static_cast<uint32_t>(dims.size()), &dims,
        data(v.data), external, flags, static_cast<uint32_t>(id));
    if (std::holds_alternative<std::monostate>(v.quantization))
      return fb::CreateXValue(builder_, fb::XValueUnion::XNNTensorValue, tensor.Union());
    const auto [kind, parameters] = quantization(v.quantization);
    return fb::CreateXValue(
        builder_, fb::XValueUnion::XNNQuantizedTensorValue,
        fb::CreateXNNQuantizedTensorValue(builder_, tensor, kind, parameters).Union());
  }

  std::pair<fb::XNNQuantParams, Offset<void>> quantization(const Quantization& q) {
    const std::vector<float> none;  // scales are data, but the list must be there
    if (const auto* t = std::get_if<PerTensor>(&q))
      return {fb::XNNQuantParams::PerTensorQuant,
              fb::CreatePerTensorQuant(builder_, t->scale, t->zero_point).Union()};
    if (const auto* c = std::get_if<PerChannel>(&q))
      return {fb::XNNQuantParams::PerChannelQuant,
              fb::CreatePerChannelQuantDirect(builder_, &none, c->channel_dim, data(c->scales),
                                              static_cast<uint32_t>(c->scales->numel()))
                  .Union()};
    if (const auto* b = std::get_if<Blockwise>(&q))
      return {fb::XNNQuantParams::PerChannelGroupQuant,
              fb::CreatePerChannelGroupQuantDirect(builder_, &none, b->channel_dim, b->group_size,
                                                   data(b->scales),
                                                   static_cast<uint32_t>(b->scales->numel()))
                  .Union()};
    return {
        fb::XNNQuantParams::PerTokenDynamicQuant,
        fb::CreatePerTokenDynamicQuant(builder_, std::get<PerToken>(q).num_nonbatch_dims).Union()};
  }

  Offset<fb::XNode> node(const Node& node) {
    const auto [kind, body] = body_of(node);
    Offset<fb::OutputMinMax> range;
    if (node.clamp) range = fb::CreateOutputMinMax(builder_, node.clamp->min, node.clamp->max);
    return fb::CreateXNode(builder_, kind, body, node.debug_handle, range);
  }

  using Body = std::pair<fb::XNodeUnion, Offset<void>>;

  Body unary(const Node& n, fb::XNodeUnion kind) {
    return {kind, fb::Create_XNNNode1x1(builder_, n.inputs[0], n.outputs[0], n.flags).Union()};
  }
  Body binary(const Node& n, fb::XNodeUnion kind) {
    return {
        kind,
        fb::Create_XNNNode2x1(builder_, n.inputs[0], n.inputs[1], n.outputs[0], n.flags).Union()};
  }
  Body convolution(const Node& n, fb::XNodeUnion kind) {
    const auto& w = std::get<Window>(n.attributes);
    return {kind, fb::Create_XNNNodeConv(
                      builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                      w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                      w.dilation_height, w.dilation_width, w.group_input_channels,
                      w.group_output_channels, w.groups, w.adjustment_height, w.adjustment_width,
                      n.inputs[0], n.inputs[1], n.inputs[2], n.outputs[0], n.flags)
                      .Union()};
  }
  Body pooling(const Node& n, fb::XNodeUnion kind) {
    const auto& w = std::get<Window>(n.attributes);
    return {kind, fb::Create_XNNPooling2D(
                      builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                      w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                      w.dilation_height, w.dilation_width, n.inputs[0], n.outputs[0], n.flags)
                      .Union()};
  }
  Body concatenate(const Node& n) {
    constexpr std::array kKinds{fb::XNodeUnion::XNNConcatenate2, fb::XNodeUnion::XNNConcatenate3,
                                fb::XNodeUnion::XNNConcatenate4, fb::XNodeUnion::XNNConcatenate5};
    const auto input = [&](size_t i) { return i < n.inputs.size() ? n.inputs[i] : kNoValue; };
    return {kKinds.at(n.inputs.size() - 2),
            fb::Create_XNNCat(builder_, std::get<Axis>(n.attributes).axis, input(0), input(1),
                              input(2), input(3), n.outputs[0], n.flags, input(4))
                .Union()};
  }

  Body body_of(const Node& n);

  const Graph& graph_;
  Builder builder_;
  std::vector<Offset<fb::ConstantDataOffset>> data_;
  std::map<const LazyTensor*, uint32_t> data_of_;
  std::map<ValueId, std::pair<uint32_t, uint32_t>> external_;  ///< number and flag
};

Serializer::Body Serializer::body_of(const Node& n) {
  using U = fb::XNodeUnion;
  using K = NodeKind;
  switch (n.kind) {
    case K::kAbs:
      return unary(n, U::XNNAbs);
    case K::kCeiling:
      return unary(n, U::XNNCeiling);
    case K::kClamp:
      return unary(n, U::XNNClamp);
    case K::kConvert:
      return unary(n, U::XNNConvert);
    case K::kCopy:
      return unary(n, U::XNNCopy);
    case K::kCos:
      return unary(n, U::XNNCos);
    case K::kExp:
      return unary(n, U::XNNExp);
    case K::kFloor:
      return unary(n, U::XNNFloor);
    case K::kGelu:
      return unary(n, U::XNNGelu);
    case K::kGlobalAvgPool2d:
      return unary(n, U::XNNGlobalAvgPooling2d);
    case K::kHardswish:
      return unary(n, U::XNNHardswish);
    case K::kLog:
      return unary(n, U::XNNLog);
    case K::kNegate:
      return unary(n, U::XNNNegate);
    case K::kReciprocalSquareRoot:
      return unary(n, U::XNNReciprocalSquareRoot);
    case K::kSigmoid:
      return unary(n, U::XNNSigmoid);
    case K::kSin:
      return unary(n, U::XNNSin);
    case K::kSoftmax:
      return unary(n, U::XNNSoftmax);
    case K::kSquare:
      return unary(n, U::XNNSquare);
    case K::kSquareRoot:
      return unary(n, U::XNNSquareRoot);
    case K::kTanh:
      return unary(n, U::XNNTanh);
    case K::kElu:
      return {U::XNNELU, fb::CreateXNNELU(builder_, std::get<Slope>(n.attributes).value,
                                          n.inputs[0], n.outputs[0], n.flags)
                             .Union()};
    case K::kLeakyRelu:
      return {U::XNNLeakyReLU, fb::CreateXNNLeakyReLU(builder_, std::get<Slope>(n.attributes).value,
                                                      n.inputs[0], n.outputs[0], n.flags)
                                   .Union()};
    case K::kStaticTranspose: {
      const auto& perm = std::get<Transpose>(n.attributes).perm;
      return {U::XNNStaticTranspose,
              fb::CreateXNNStaticTransposeDirect(builder_, static_cast<uint32_t>(perm.size()),
                                                 &perm, n.inputs[0], n.outputs[0], n.flags)
                  .Union()};
    }
    case K::kStaticReshape: {
      const auto& sizes = std::get<Reshape>(n.attributes).sizes;
      return {U::XNNStaticReshape,
              fb::CreateXNNStaticReshapeDirect(builder_, static_cast<uint32_t>(sizes.size()),
                                               &sizes, n.inputs[0], n.outputs[0], n.flags)
                  .Union()};
    }
    case K::kStaticSlice: {
      const auto& slice = std::get<Slice>(n.attributes);
      return {U::XNNStaticSlice,
              fb::CreateXNNStaticSliceDirect(builder_, static_cast<uint32_t>(slice.offsets.size()),
                                             &slice.offsets, &slice.sizes, n.inputs[0],
                                             n.outputs[0], n.flags)
                  .Union()};
    }
    case K::kStaticConstantPad: {
      const auto& pad = std::get<Pad>(n.attributes);
      return {U::XNNStaticConstantPad,
              fb::CreateXNNStaticConstantPadDirect(builder_, &pad.before, &pad.after, pad.value,
                                                   n.inputs[0], n.outputs[0], n.flags)
                  .Union()};
    }
    case K::kStaticResizeBilinear2d: {
      const auto& size = std::get<Resize>(n.attributes);
      return {U::XNNStaticResizeBilinear2D,
              fb::CreateXNNStaticResizeBilinear2D(builder_, size.height, size.width, n.inputs[0],
                                                  n.outputs[0], n.flags)
                  .Union()};
    }
    case K::kAvgPool2d:
      return pooling(n, U::XNNAvgPooling2d);
    case K::kMaxPool2d:
      return pooling(n, U::XNNMaxPooling2d);
    case K::kArgMaxPool2d: {
      const auto& w = std::get<Window>(n.attributes);
      return {U::XNNArgMaxPooling2d,
              fb::CreateXNNArgMaxPooling2d(
                  builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                  w.kernel_height, w.kernel_width, n.inputs[0], n.outputs[0], n.outputs[1], n.flags)
                  .Union()};
    }
    case K::kAdd:
      return binary(n, U::XNNAdd);
    case K::kBatchMatrixMultiply:
      return binary(n, U::XNNBatchMatrixMultiply);
    case K::kDiv:
      return binary(n, U::XNNDiv);
    case K::kMaximum:
      return binary(n, U::XNNMaximum);
    case K::kMinimum:
      return binary(n, U::XNNMinimum);
    case K::kMultiply:
      return binary(n, U::XNNMultiply);
    case K::kPrelu:
      return binary(n, U::XNNPReLU);
    case K::kSubtract:
      return binary(n, U::XNNSubtract);
    case K::kFullyConnected:
      return {U::XNNFullyConnected, fb::CreateXNNFullyConnected(builder_, n.inputs[0], n.inputs[1],
                                                                n.inputs[2], n.outputs[0], n.flags)
                                        .Union()};
    case K::kConv2d:
      return convolution(n, U::XNNConv2d);
    case K::kDepthwiseConv2d:
      return convolution(n, U::XNNDepthwiseConv2d);
    case K::kConvTranspose2d:
      return convolution(n, U::XNNConvTranspose2d);
    case K::kScaledDotProductAttention:
      return {U::XNNScaledDotProductAttention, fb::CreateXNNScaledDotProductAttention(
                                                   builder_, n.inputs[0], n.inputs[1], n.inputs[2],
                                                   n.inputs[3], n.inputs[4], n.outputs[0], n.flags)
                                                   .Union()};
    case K::kConcatenate:
      return concatenate(n);
  }
  SLIPWAY_ASSERT(!"a node kind without a table in the schema");
  return {};
}

/// Little-endian, as the runtime reads it.
void put(std::string& text, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

void pad(std::string& text) {
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

std::vector<Lazy> static_data(const Graph& graph) {
  std::vector<Lazy> all;
  std::set<const LazyTensor*> seen;
  const auto add = [&](const Lazy& data) {
    if (data && seen.insert(data.get()).second) all.push_back(data);
  };
  for (const Value& value : graph.values) {
    add(value.data);
    if (const auto* c = std::get_if<PerChannel>(&value.quantization)) add(c->scales);
    if (const auto* b = std::get_if<Blockwise>(&value.quantization)) add(b->scales);
  }
  return all;
}

std::string serialize(const Graph& graph, const std::function<std::string(const Lazy& data)>& key) {
  const std::string body = Serializer(graph, key).finish();
  const size_t start = (kHeader + kAlignment - 1) / kAlignment * kAlignment;
  std::string text(4, '\0');  // so that the magic lies where a bare flatbuffer has its own
  text += "XH00";
  put(text, kHeader, 2);
  put(text, start, 4);
  put(text, body.size(), 4);
  put(text, start + (body.size() + kAlignment - 1) / kAlignment * kAlignment, 4);
  put(text, 0, 8);  // no data behind the graph
  pad(text);
  text += body;
  pad(text);
  return text;
}

}  // namespace slipway::executorch::xnnpack

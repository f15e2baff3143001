// Names of XNNPACK nodes and the checks of a delegate's graph.
#include "backends/executorch/xnnpack_graph.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "slipway/error.h"

namespace slipway::executorch::xnnpack {
namespace {

enum class Takes : uint8_t {
  kNothing,
  kTranspose,
  kReshape,
  kSlice,
  kPad,
  kResize,
  kAxis,
  kSlope,
  kWindow
};

struct Row {
  NodeKind kind;
  const char* name;
  size_t min_inputs, max_inputs;
  Takes attributes = Takes::kNothing;
  size_t outputs = 1;
};

constexpr std::array kRows{
    Row{NodeKind::kAbs, "Abs", 1, 1},
    Row{NodeKind::kCeiling, "Ceiling", 1, 1},
    Row{NodeKind::kClamp, "Clamp", 1, 1},
    Row{NodeKind::kConvert, "Convert", 1, 1},
    Row{NodeKind::kCopy, "Copy", 1, 1},
    Row{NodeKind::kCos, "Cos", 1, 1},
    Row{NodeKind::kElu, "ELU", 1, 1, Takes::kSlope},
    Row{NodeKind::kExp, "Exp", 1, 1},
    Row{NodeKind::kFloor, "Floor", 1, 1},
    Row{NodeKind::kGelu, "Gelu", 1, 1},
    Row{NodeKind::kGlobalAvgPool2d, "GlobalAvgPooling2d", 1, 1},
    Row{NodeKind::kHardswish, "Hardswish", 1, 1},
    Row{NodeKind::kLeakyRelu, "LeakyReLU", 1, 1, Takes::kSlope},
    Row{NodeKind::kLog, "Log", 1, 1},
    Row{NodeKind::kNegate, "Negate", 1, 1},
    Row{NodeKind::kReciprocalSquareRoot, "ReciprocalSquareRoot", 1, 1},
    Row{NodeKind::kSigmoid, "Sigmoid", 1, 1},
    Row{NodeKind::kSin, "Sin", 1, 1},
    Row{NodeKind::kSoftmax, "Softmax", 1, 1},
    Row{NodeKind::kSquare, "Square", 1, 1},
    Row{NodeKind::kSquareRoot, "SquareRoot", 1, 1},
    Row{NodeKind::kTanh, "Tanh", 1, 1},
    Row{NodeKind::kStaticTranspose, "StaticTranspose", 1, 1, Takes::kTranspose},
    Row{NodeKind::kStaticReshape, "StaticReshape", 1, 1, Takes::kReshape},
    Row{NodeKind::kStaticSlice, "StaticSlice", 1, 1, Takes::kSlice},
    Row{NodeKind::kStaticConstantPad, "StaticConstantPad", 1, 1, Takes::kPad},
    Row{NodeKind::kStaticResizeBilinear2d, "StaticResizeBilinear2D", 1, 1, Takes::kResize},
    Row{NodeKind::kAvgPool2d, "AvgPooling2d", 1, 1, Takes::kWindow},
    Row{NodeKind::kMaxPool2d, "MaxPooling2d", 1, 1, Takes::kWindow},
    Row{NodeKind::kArgMaxPool2d, "ArgMaxPooling2d", 1, 1, Takes::kWindow, 2},
    Row{NodeKind::kAdd, "Add", 2, 2},
    Row{NodeKind::kBatchMatrixMultiply, "BatchMatrixMultiply", 2, 2},
    Row{NodeKind::kDiv, "Div", 2, 2},
    Row{NodeKind::kMaximum, "Maximum", 2, 2},
    Row{NodeKind::kMinimum, "Minimum", 2, 2},
    Row{NodeKind::kMultiply, "Multiply", 2, 2},
    Row{NodeKind::kPrelu, "PReLU", 2, 2},
    Row{NodeKind::kSubtract, "Subtract", 2, 2},
    Row{NodeKind::kFullyConnected, "FullyConnected", 3, 3},
    Row{NodeKind::kConv2d, "Conv2d", 3, 3, Takes::kWindow},
    Row{NodeKind::kDepthwiseConv2d, "DepthwiseConv2d", 3, 3, Takes::kWindow},
    Row{NodeKind::kConvTranspose2d, "ConvTranspose2d", 3, 3, Takes::kWindow},
    Row{NodeKind::kScaledDotProductAttention, "ScaledDotProductAttention", 5, 5},
    Row{NodeKind::kConcatenate, "Concatenate", 2, 5, Takes::kAxis},
};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  return true;
}
static_assert(in_order());

const Row& row(NodeKind kind) { return kRows.at(static_cast<size_t>(kind)); }

[[noreturn]] void fail(const std::string& what) {
  throw Error(kInternal, "[executorch] XNNPACK graph: " + what);
}

/// The dtypes whose bytes a type's static data may have.
bool holds(DataType type, DType dtype) {
  switch (type) {
    case DataType::kFp32:
      return dtype == DType::kF32;
    case DataType::kFp16:
      return dtype == DType::kF16;
    case DataType::kBf16:
      return dtype == DType::kBF16;
    case DataType::kQint8:
    case DataType::kQcint8:
      return dtype == DType::kI8;
    case DataType::kQuint8:
    case DataType::kQcint4:
    case DataType::kQbint4:
      return dtype == DType::kU8;
    case DataType::kQint32:
    case DataType::kQcint32:
    case DataType::kInt32:
      return dtype == DType::kI32;
    case DataType::kQdint8:
      return false;
  }
  return false;
}

void check_scales(size_t id, const Lazy& scales, DType dtype, int64_t count) {
  if (!scales || scales->dtype() != dtype || scales->numel() != count)
    fail(fmt::format("value {} needs {} scales of {}", id, count, short_name(dtype)));
}

void check_value(size_t id, const Value& value) {
  if (static_cast<int64_t>(value.shape.size()) > kMaxDims)
    fail(fmt::format("value {} has {} dimensions, the most are {}", id, value.shape.size(),
                     kMaxDims));
  Shape sizes;
  for (const Sym size : value.shape) {
    if (size.bounds().hi > std::numeric_limits<int32_t>::max())
      fail(fmt::format("value {}: the size {} has no upper bound", id, size.str()));
    sizes.push_back(size.bounds().hi);
  }
  const int64_t elements = numel(sizes);
  if (value.data) {
    const bool halves = value.type == DataType::kQcint4 || value.type == DataType::kQbint4;
    if (!holds(value.type, value.data->dtype()) ||
        value.data->numel() != (halves ? (elements + 1) / 2 : elements))
      fail(fmt::format("value {}: {} {} are no static data of {} elements", id,
                       short_name(value.data->dtype()), shape_string(value.data->shape()),
                       elements));
  }
  const auto channels = [&](int32_t dim) {
    if (dim < 0 || static_cast<size_t>(dim) >= sizes.size())
      fail(fmt::format("value {} has no dimension {}", id, dim));
    return sizes[static_cast<size_t>(dim)];
  };
  if (const auto* q = std::get_if<PerChannel>(&value.quantization)) {
    check_scales(id, q->scales, DType::kF32, channels(q->channel_dim));
  } else if (const auto* b = std::get_if<Blockwise>(&value.quantization)) {
    if (sizes.size() != 2 || b->group_size <= 0 || sizes[1] % b->group_size != 0)
      fail(fmt::format("value {}: blocks of {} do not divide {}", id, b->group_size,
                       shape_string(sizes)));
    check_scales(id, b->scales, DType::kBF16, elements / b->group_size);
  }
}

/// The delegate frees data once a node has packed them, so no other node may read them.
void check_packing(const Graph& graph) {
  std::set<ValueId> packed, read;
  for (const Node& node : graph.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || !graph.values[id].data) continue;
      const bool packs = row(node.kind).min_inputs == 3 && i > 0;
      (packs ? packed : read).insert(id);
    }
  for (const ValueId id : packed)
    if (read.contains(id))
      fail(
          fmt::format("static value {} is packed by one node and read by another; give each a "
                      "value of its own over the same data",
                      id));
}

bool fits(Takes wanted, const Attributes& attributes) {
  return attributes.index() == static_cast<size_t>(wanted);
}

}  // namespace

const char* name(NodeKind kind) { return row(kind).name; }

void verify(const Graph& graph) {
  for (size_t i = 0; i < graph.values.size(); ++i) check_value(i, graph.values[i]);
  if (graph.inputs.size() + graph.outputs.size() > kMaxExternals)
    fail(fmt::format("{} inputs and outputs, the most are {}",
                     graph.inputs.size() + graph.outputs.size(), kMaxExternals));
  std::set<ValueId> external, defined;
  for (const auto* list : {&graph.inputs, &graph.outputs})
    for (const ValueId id : *list) {
      if (id >= graph.values.size() || graph.values[id].data || !external.insert(id).second)
        fail(fmt::format("value {} cannot be an input or output", id));
    }
  defined.insert(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) {
    const Row& r = row(node.kind);
    if (node.inputs.size() < r.min_inputs || node.inputs.size() > r.max_inputs ||
        node.outputs.size() != r.outputs || !fits(r.attributes, node.attributes))
      fail(fmt::format("a node {} has the wrong inputs, outputs or attributes", r.name));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue && r.min_inputs == 3 && i == 2) continue;  // no bias
      if (id >= graph.values.size() || (!graph.values[id].data && !defined.contains(id)))
        fail(fmt::format("a node {} reads value {} before it is made", r.name, id));
    }
    for (const ValueId id : node.outputs)
      if (id >= graph.values.size() || graph.values[id].data || !defined.insert(id).second)
        fail(fmt::format("a node {} cannot make value {}", r.name, id));
  }
  check_packing(graph);
  for (const ValueId id : graph.outputs)
    if (!defined.contains(id)) fail(fmt::format("no node makes the output {}", id));
}

}  // namespace slipway::executorch::xnnpack

// The graph that the XNNPACK delegate compiles when a method is loaded, as plain structs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/lazy.h"
#include "ir/sym.h"

namespace slipway::executorch::xnnpack {

/// The number of a value in its graph.
using ValueId = uint32_t;
constexpr ValueId kNoValue = std::numeric_limits<uint32_t>::max();

/// The longest shape, and the most inputs and outputs together, that the delegate takes.
constexpr int64_t kMaxDims = 6;
constexpr size_t kMaxExternals = 4096;

/// Element types by XNNPACK's names (xnn_datatype_*); the numbers are the file's.
enum class DataType : int16_t {
  kFp32 = 1,
  kFp16 = 2,
  kQint8 = 3,    ///< one scale and zero point
  kQuint8 = 4,   ///< the same, unsigned
  kQint32 = 5,   ///< one scale: a bias
  kQcint8 = 6,   ///< a scale a channel
  kQcint32 = 7,  ///< a scale a channel: a bias
  kQcint4 = 8,   ///< a scale a channel, two elements a byte
  kQdint8 = 9,   ///< quantized while running, parameters a row
  kQbint4 = 10,  ///< a bfloat16 scale a block, two elements a byte
  kInt32 = 12,
  kBf16 = 14,
};

/// real = (stored - zero_point) * scale.
struct PerTensor {
  float scale = 1;
  int32_t zero_point = 0;
};
/// Symmetric; kQcint4 is stored with an offset of 8.
struct PerChannel {
  Lazy scales;  ///< f32, one a channel
  int32_t channel_dim = 0;
};
/// kQbint4, stored with an offset of 8: blocks of `group_size` elements along the input channels.
struct Blockwise {
  Lazy scales;  ///< bf16, [channels, inputs / group_size]
  int32_t channel_dim = 0;
  int32_t group_size = 32;
};
/// kQdint8: the last `num_nonbatch_dims` dimensions share parameters.
struct PerToken {
  int32_t num_nonbatch_dims = 1;
};
using Quantization = std::variant<std::monostate, PerTensor, PerChannel, Blockwise, PerToken>;

/// A tensor of the graph. Dynamic sizes are written with their upper bound; the delegate takes the
/// sizes of its inputs from each call and infers the rest.
struct Value {
  DataType type = DataType::kFp32;
  SymShape shape{};
  Lazy data{};  ///< of static data: bytes as XNNPACK reads them. For types of 4 bits a u8 tensor,
                ///< two elements a byte, the first in the lower half; else elements of the type
  Quantization quantization{};
};

enum class NodeKind : uint8_t {
  // one input
  kAbs,
  kCeiling,
  kClamp,
  kConvert,
  kCopy,
  kCos,
  kElu,
  kExp,
  kFloor,
  kGelu,
  kGlobalAvgPool2d,
  kHardswish,
  kLeakyRelu,
  kLog,
  kNegate,
  kReciprocalSquareRoot,
  kSigmoid,
  kSin,
  kSoftmax,
  kSquare,
  kSquareRoot,
  kTanh,
  kStaticTranspose,
  kStaticReshape,
  kStaticSlice,
  kStaticConstantPad,
  kStaticResizeBilinear2d,
  kAvgPool2d,
  kMaxPool2d,
  kArgMaxPool2d,
  // two inputs
  kAdd,
  kBatchMatrixMultiply,
  kDiv,
  kMaximum,
  kMinimum,
  kMultiply,
  kPrelu,
  kSubtract,
  // input, filter, bias (kNoValue: none)
  kFullyConnected,
  kConv2d,
  kDepthwiseConv2d,
  kConvTranspose2d,
  // query, key, value, scale, mask
  kScaledDotProductAttention,
  // two to five inputs
  kConcatenate,
};

/// kStaticTranspose.
struct Transpose {
  std::vector<uint32_t> perm;
};
/// kStaticReshape: a size of 0 is inferred (one at most).
struct Reshape {
  std::vector<uint32_t> sizes;
};
/// kStaticSlice: a size of 0 is everything from the offset.
struct Slice {
  std::vector<uint32_t> offsets, sizes;
};
/// kStaticConstantPad.
struct Pad {
  std::vector<uint32_t> before, after;
  float value = 0;
};
/// kStaticResizeBilinear2d.
struct Resize {
  uint32_t height = 0, width = 0;
};
/// kConcatenate.
struct Axis {
  uint32_t axis = 0;
};
/// kElu (alpha) and kLeakyRelu (negative slope).
struct Slope {
  float value = 1;
};
/// Convolutions and poolings, NHWC. Poolings use padding, kernel, stride and dilation.
struct Window {
  uint32_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  uint32_t kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;
  uint32_t group_input_channels = 0, group_output_channels = 0, groups = 1;
  uint32_t adjustment_height = 0, adjustment_width = 0;  ///< of kConvTranspose2d
};
using Attributes =
    std::variant<std::monostate, Transpose, Reshape, Slice, Pad, Resize, Axis, Slope, Window>;

/// The range that results are clamped to.
struct Range {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

struct Node {
  NodeKind kind = NodeKind::kAdd;
  std::vector<ValueId> inputs{};
  std::vector<ValueId> outputs{};  ///< one; two for kArgMaxPool2d: values, indices
  Attributes attributes{};
  std::optional<Range> clamp{};
  uint32_t flags = 0;  ///< XNN_FLAG_*
  uint32_t debug_handle = 0;
};

/// Nodes in an order that can run. Inputs and outputs are values, in the order of the arguments of
/// the delegate's calls; a value is not both, and neither is static. A static value that a fully
/// connected layer or a convolution packs is read by no other kind of node.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs, outputs;

  /// Adds a value and returns its number.
  ValueId add(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
};

/// Checks numbers of values, counts of inputs, attributes against kinds, sizes of static data and
/// of scales. Throws Error{kInternal} naming the node or value.
void verify(const Graph& graph);

/// "StaticReshape", as in the schema without XNN.
const char* name(NodeKind kind);

}  // namespace slipway::executorch::xnnpack

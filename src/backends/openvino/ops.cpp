// The OpenVINO ops that lowering emits. Positional arguments are inputs, keyword ones attributes.
#include <algorithm>

#include "backends/openvino/lower.h"
#include "lowering/infer.h"

namespace slipway::openvino {
namespace {

using namespace lowering;  // types of ops that convert nothing

std::vector<ValueType> attention(const Args& a) {
  SymShape out = a.type(0).shape;
  out.back() = a.type(2).shape.back();
  return {{a.type(0).dtype, out}};
}

OpRow unary(std::string_view schema) { return {.schema = schema, .infer = self}; }

OpRow binary(std::string_view schema, uint32_t traits = 0) {
  return {.schema = schema, .infer = two, .traits = traits};
}

OpRow test(std::string_view schema, uint32_t traits = 0) {
  return {.schema = schema, .infer = two_to_bool, .traits = traits};
}

/// An op whose type its emitter knows.
OpRow stated(std::string_view schema) { return {.schema = schema, .infer = nullptr}; }

const OpRow kRows[] = {
    binary("ov::Add(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    binary("ov::Subtract(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    binary("ov::Multiply(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    binary("ov::Divide(Tensor a, Tensor b, *, str auto_broadcast='numpy', "
           "bool m_pythondiv=True) -> Tensor"),
    binary("ov::Power(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    binary("ov::Minimum(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    binary("ov::Maximum(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    binary("ov::Mod(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    binary("ov::FloorMod(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    binary("ov::BitwiseAnd(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor",
           kCommutes),
    binary("ov::BitwiseOr(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    binary("ov::BitwiseXor(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor",
           kCommutes),
    test("ov::Equal(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    test("ov::NotEqual(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    test("ov::Less(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    test("ov::LessEqual(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    test("ov::Greater(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    test("ov::GreaterEqual(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor"),
    test("ov::LogicalAnd(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    test("ov::LogicalOr(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    test("ov::LogicalXor(Tensor a, Tensor b, *, str auto_broadcast='numpy') -> Tensor", kCommutes),
    unary("ov::LogicalNot(Tensor data) -> Tensor"),
    unary("ov::BitwiseNot(Tensor data) -> Tensor"),
    unary("ov::Negative(Tensor data) -> Tensor"),
    unary("ov::Abs(Tensor data) -> Tensor"),
    unary("ov::Exp(Tensor data) -> Tensor"),
    unary("ov::Log(Tensor data) -> Tensor"),
    unary("ov::Sqrt(Tensor data) -> Tensor"),
    unary("ov::Sin(Tensor data) -> Tensor"),
    unary("ov::Cos(Tensor data) -> Tensor"),
    unary("ov::Tan(Tensor data) -> Tensor"),
    unary("ov::Atan(Tensor data) -> Tensor"),
    unary("ov::Tanh(Tensor data) -> Tensor"),
    unary("ov::Erf(Tensor data) -> Tensor"),
    unary("ov::Sigmoid(Tensor data) -> Tensor"),
    unary("ov::ReLU(Tensor data) -> Tensor"),
    unary("ov::Swish(Tensor data) -> Tensor"),
    unary("ov::Gelu(Tensor data, *, str approximation_mode='ERF') -> Tensor"),
    unary("ov::Sign(Tensor data) -> Tensor"),
    unary("ov::Ceiling(Tensor data) -> Tensor"),
    unary("ov::Floor(Tensor data) -> Tensor"),
    unary("ov::Round(Tensor data, *, str mode='half_to_even') -> Tensor"),
    {.schema = "ov::IsNaN(Tensor data) -> Tensor", .infer = self_to_bool},
    {.schema = "ov::IsInf(Tensor data, *, bool detect_negative=True, bool detect_positive=True) -> "
               "Tensor",
     .infer = self_to_bool},
    {.schema = "ov::Select(Tensor cond, Tensor then, Tensor else, *, str auto_broadcast='numpy') "
               "-> Tensor",
     .infer = choice},
    {.schema = "ov::Convert(Tensor data, *, ScalarType destination_type) -> Tensor",
     .infer = converted},
    unary("ov::SoftMax(Tensor data, *, int axis) -> Tensor"),
    unary("ov::LogSoftmax(Tensor data, *, int axis) -> Tensor"),
    unary("ov::CumSum(Tensor data, Tensor axis, *, bool exclusive=False, bool reverse=False) -> "
          "Tensor"),
    unary("ov::MVN(Tensor data, Tensor axes, *, float eps, bool normalize_variance=True, "
          "str eps_mode='INSIDE_SQRT') -> Tensor"),
    stated("ov::ReduceMean(Tensor data, Tensor axes, *, bool keep_dims) -> Tensor"),
    stated("ov::ReduceSum(Tensor data, Tensor axes, *, bool keep_dims) -> Tensor"),
    stated("ov::ReduceMax(Tensor data, Tensor axes, *, bool keep_dims) -> Tensor"),
    stated("ov::ReduceMin(Tensor data, Tensor axes, *, bool keep_dims) -> Tensor"),
    stated("ov::ReduceProd(Tensor data, Tensor axes, *, bool keep_dims) -> Tensor"),
    stated("ov::MatMul(Tensor a, Tensor b, *, bool transpose_a=False, bool transpose_b=False) -> "
           "Tensor"),
    {.schema = "ov::ScaledDotProductAttention(Tensor query, Tensor key, Tensor value, "
               "Tensor? attention_mask=None, Tensor? scale=None, *, bool causal=False) -> Tensor",
     .infer = attention},
    {.schema = "ov::Concat(Tensor[] inputs, *, int axis) -> Tensor", .infer = joined},
    stated("ov::Reshape(Tensor data, Tensor pattern, *, bool special_zero) -> Tensor"),
    stated("ov::Transpose(Tensor data, Tensor order) -> Tensor"),
    stated("ov::Unsqueeze(Tensor data, Tensor axes) -> Tensor"),
    stated("ov::Squeeze(Tensor data, Tensor axes) -> Tensor"),
    stated("ov::Broadcast(Tensor data, Tensor target_shape, *, str mode='numpy') -> Tensor"),
    stated("ov::Slice(Tensor data, Tensor start, Tensor stop, Tensor step, Tensor axes) -> Tensor"),
    stated("ov::ShapeOf(Tensor data, *, str output_type='i64') -> Tensor"),
    stated("ov::Range(Tensor start, Tensor stop, Tensor step, *, ScalarType output_type) -> "
           "Tensor"),
    stated("ov::Gather(Tensor data, Tensor indices, Tensor axis, *, int batch_dims=0) -> Tensor"),
    {.schema = "ov::GatherElements(Tensor data, Tensor indices, *, int axis) -> Tensor",
     .infer = at_indices},
    stated("ov::GatherND(Tensor data, Tensor indices, *, int batch_dims=0) -> Tensor"),
    unary("ov::ScatterUpdate(Tensor data, Tensor indices, Tensor updates, Tensor axis) -> Tensor"),
    unary("ov::ScatterNDUpdate(Tensor data, Tensor indices, Tensor updates, *, "
          "str reduction='none') -> Tensor"),
    unary("ov::ScatterElementsUpdate(Tensor data, Tensor indices, Tensor updates, Tensor axis, *, "
          "str reduction='none', bool use_init_val=True) -> Tensor"),
    stated("ov::TopK(Tensor data, Tensor k, *, int axis, str mode='max', str sort='value', "
           "str index_element_type='i64', bool stable=True) -> "
           "(Tensor values, Tensor indices)"),
    stated("ov::Convolution(Tensor data, Tensor filters, *, int[] strides, int[] dilations, "
           "int[] pads_begin, int[] pads_end, str auto_pad='explicit') -> Tensor"),
    stated("ov::GroupConvolution(Tensor data, Tensor filters, *, int[] strides, int[] dilations, "
           "int[] pads_begin, int[] pads_end, str auto_pad='explicit') -> Tensor"),
    stated("ov::ConvolutionBackpropData(Tensor data, Tensor filters, *, int[] strides, "
           "int[] dilations, int[] pads_begin, int[] pads_end, str auto_pad='explicit', "
           "int[] output_padding) -> Tensor"),
    stated("ov::GroupConvolutionBackpropData(Tensor data, Tensor filters, *, int[] strides, "
           "int[] dilations, int[] pads_begin, int[] pads_end, str auto_pad='explicit', "
           "int[] output_padding) -> Tensor"),
    stated("ov::MaxPool(Tensor data, *, int[] strides, int[] dilations, int[] pads_begin, "
           "int[] pads_end, int[] kernel, str rounding_type='floor', str auto_pad='explicit', "
           "str index_element_type='i64', int axis=0) -> (Tensor values, Tensor indices)"),
    stated("ov::AvgPool(Tensor data, *, int[] kernel, int[] strides, int[] pads_begin, "
           "int[] pads_end, bool exclude_pad, str auto_pad='explicit', "
           "str rounding_type='floor') -> Tensor"),
    {.schema = "ov::ReadValue(Tensor init, *, str variable_id, ScalarType variable_type, "
               "str variable_shape) -> Tensor",
     .infer = nullptr,
     .traits = kImpure},
    {.schema = "ov::Assign(Tensor value, *, str variable_id) -> Tensor",
     .infer = self,
     .traits = kImpure | kSink},
    stated("ov::Pad(Tensor data, Tensor pads_begin, Tensor pads_end, Tensor? pad_value=None, *, "
           "str pad_mode) -> Tensor"),
    stated("ov::Interpolate(Tensor data, Tensor sizes_or_scales, Tensor axes, *, str mode, "
           "str shape_calculation_mode, str coordinate_transformation_mode, "
           "str nearest_mode='floor', bool antialias=False, int[] pads_begin, "
           "int[] pads_end, float cube_coeff=-0.75) -> Tensor"),
};

/// Ops whose form is newer than the first opset's.
constexpr std::pair<std::string_view, std::string_view> kOpsets[] = {
    {"ov::Assign", "opset6"},
    {"ov::BitwiseAnd", "opset13"},
    {"ov::BitwiseNot", "opset13"},
    {"ov::BitwiseOr", "opset13"},
    {"ov::BitwiseXor", "opset13"},
    {"ov::Broadcast", "opset3"},
    {"ov::CumSum", "opset3"},
    {"ov::Gather", "opset8"},
    {"ov::GatherElements", "opset6"},
    {"ov::GatherND", "opset8"},
    {"ov::Gelu", "opset7"},
    {"ov::Interpolate", "opset11"},
    {"ov::IsInf", "opset10"},
    {"ov::IsNaN", "opset10"},
    {"ov::LogSoftmax", "opset5"},
    {"ov::LogicalXor", "opset2"},
    {"ov::MVN", "opset6"},
    {"ov::MaxPool", "opset8"},
    {"ov::Pad", "opset12"},
    {"ov::Range", "opset4"},
    {"ov::ReadValue", "opset6"},
    {"ov::Round", "opset5"},
    {"ov::ScaledDotProductAttention", "opset13"},
    {"ov::ScatterElementsUpdate", "opset12"},
    {"ov::ScatterNDUpdate", "opset15"},
    {"ov::ScatterUpdate", "opset3"},
    {"ov::ShapeOf", "opset3"},
    {"ov::Slice", "opset8"},
    {"ov::SoftMax", "opset8"},
    {"ov::Swish", "opset4"},
    {"ov::TopK", "opset11"},
};

}  // namespace

std::span<const OpRow> openvino_ops() { return kRows; }

std::string_view opset_of(std::string_view op) {
  const auto at = std::find_if(std::begin(kOpsets), std::end(kOpsets),
                               [&](const auto& row) { return row.first == op; });
  return at == std::end(kOpsets) ? "opset1" : at->second;
}

}  // namespace slipway::openvino

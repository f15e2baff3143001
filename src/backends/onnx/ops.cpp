// The ONNX ops that lowering emits. Positional arguments are inputs, keyword ones attributes.
#include "backends/onnx/lower.h"
#include "ir/ops/infer.h"
#include "lowering/infer.h"

namespace slipway::onnx {
namespace {

using namespace lowering;  // types of ops that convert nothing

std::vector<ValueType> matmul(const Args& a) {
  const SymShape &x = a.type(0).shape, &y = a.type(1).shape;
  if (x.size() < 2 || y.size() < 2 || a.type(0).dtype != a.type(1).dtype)
    a.fail("needs matrices of one dtype");
  SymShape out = ops::broadcast({x.begin(), x.end() - 2}, {y.begin(), y.end() - 2});
  out.push_back(x[x.size() - 2]);
  out.push_back(y.back());
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> transpose(const Args& a) {
  SymShape out;
  for (const int64_t axis : a.integers(1))
    out.push_back(a.type(0).shape.at(static_cast<size_t>(axis)));
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> shape(const Args& a) {
  const auto rank = static_cast<int64_t>(a.type(0).shape.size());
  const int64_t start = a.integer(1), end = a.has(2) ? a.integer(2) : rank;
  return {{DType::kI64, {std::max<int64_t>(0, std::min(end, rank) - start)}}};
}

std::vector<ValueType> gather(const Args& a) {
  const SymShape &data = a.type(0).shape, &indices = a.type(1).shape;
  const auto axis = static_cast<size_t>(a.axis(2, static_cast<int64_t>(data.size())));
  SymShape out(data.begin(), data.begin() + static_cast<int64_t>(axis));
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + static_cast<int64_t>(axis) + 1, data.end());
  return {{a.type(0).dtype, out}};
}

const OpRow kRows[] = {
    {.schema = "onnx::Add(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::Sub(Tensor A, Tensor B) -> Tensor", .infer = two},
    {.schema = "onnx::Mul(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::Div(Tensor A, Tensor B) -> Tensor", .infer = two},
    {.schema = "onnx::Pow(Tensor X, Tensor Y) -> Tensor", .infer = two},
    {.schema = "onnx::Min(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::Max(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::Mod(Tensor A, Tensor B, *, int fmod=0) -> Tensor", .infer = two},
    {.schema = "onnx::Neg(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Abs(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Exp(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Log(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Sqrt(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Reciprocal(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Sin(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Cos(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Tanh(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Erf(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Sigmoid(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Relu(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Gelu(Tensor X, *, str approximate='none') -> Tensor", .infer = self},
    {.schema = "onnx::Equal(Tensor A, Tensor B) -> Tensor",
     .infer = two_to_bool,
     .traits = kCommutes},
    {.schema = "onnx::Less(Tensor A, Tensor B) -> Tensor", .infer = two_to_bool},
    {.schema = "onnx::LessOrEqual(Tensor A, Tensor B) -> Tensor", .infer = two_to_bool},
    {.schema = "onnx::Greater(Tensor A, Tensor B) -> Tensor", .infer = two_to_bool},
    {.schema = "onnx::GreaterOrEqual(Tensor A, Tensor B) -> Tensor", .infer = two_to_bool},
    {.schema = "onnx::And(Tensor A, Tensor B) -> Tensor",
     .infer = two_to_bool,
     .traits = kCommutes},
    {.schema = "onnx::Or(Tensor A, Tensor B) -> Tensor", .infer = two_to_bool, .traits = kCommutes},
    {.schema = "onnx::Not(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Where(Tensor condition, Tensor X, Tensor Y) -> Tensor", .infer = choice},
    {.schema = "onnx::Cast(Tensor input, *, ScalarType to) -> Tensor", .infer = converted},
    {.schema = "onnx::ReduceMean(Tensor data, Tensor? axes=None, *, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::ReduceSum(Tensor data, Tensor? axes=None, *, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::ReduceMax(Tensor data, Tensor? axes=None, *, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::ReduceMin(Tensor data, Tensor? axes=None, *, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::CumSum(Tensor x, Tensor axis) -> Tensor", .infer = self},
    {.schema = "onnx::Softmax(Tensor input, *, int axis=-1) -> Tensor", .infer = self},
    {.schema = "onnx::MatMul(Tensor A, Tensor B) -> Tensor", .infer = matmul},
    {.schema = "onnx::LayerNormalization(Tensor X, Tensor Scale, Tensor? B=None, *, int axis=-1, "
               "float epsilon=1e-05) -> Tensor",
     .infer = self},
    {.schema = "onnx::Reshape(Tensor data, Tensor shape, *, int allowzero=0) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Transpose(Tensor data, *, int[] perm) -> Tensor", .infer = transpose},
    {.schema = "onnx::Unsqueeze(Tensor data, Tensor axes) -> Tensor", .infer = nullptr},
    {.schema = "onnx::Squeeze(Tensor data, Tensor axes) -> Tensor", .infer = nullptr},
    {.schema = "onnx::Expand(Tensor input, Tensor shape) -> Tensor", .infer = nullptr},
    {.schema = "onnx::Concat(Tensor[] inputs, *, int axis) -> Tensor", .infer = joined},
    {.schema = "onnx::Slice(Tensor data, Tensor starts, Tensor ends, Tensor axes, Tensor steps) -> "
               "Tensor",
     .infer = nullptr},
    {.schema = "onnx::Gather(Tensor data, Tensor indices, *, int axis=0) -> Tensor",
     .infer = gather},
    {.schema = "onnx::GatherElements(Tensor data, Tensor indices, *, int axis=0) -> Tensor",
     .infer = at_indices},
    {.schema = "onnx::ScatterND(Tensor data, Tensor indices, Tensor updates, *, "
               "str reduction='none') -> Tensor",
     .infer = self},
    {.schema = "onnx::ScatterElements(Tensor data, Tensor indices, Tensor updates, *, int axis=0, "
               "str reduction='none') -> Tensor",
     .infer = self},
    {.schema = "onnx::GatherND(Tensor data, Tensor indices) -> Tensor", .infer = nullptr},
    {.schema = "onnx::TopK(Tensor X, Tensor K, *, int axis=-1, int largest=1, int sorted=1) -> "
               "(Tensor Values, Tensor Indices)",
     .infer = nullptr},
    {.schema = "onnx::ArgMax(Tensor data, *, int axis=0, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::ArgMin(Tensor data, *, int axis=0, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Conv(Tensor X, Tensor W, Tensor? B=None, *, int[]? dilations=None, "
               "int group=1, int[]? kernel_shape=None, int[]? pads=None, int[]? strides=None) -> "
               "Tensor",
     .infer = nullptr},
    {.schema = "onnx::ConvTranspose(Tensor X, Tensor W, Tensor? B=None, *, int[]? dilations=None, "
               "int group=1, int[]? kernel_shape=None, int[]? output_padding=None, "
               "int[]? pads=None, int[]? strides=None) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::MaxPool(Tensor X, *, int[]? dilations=None, int[] kernel_shape, "
               "int[]? pads=None, int[]? strides=None) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::AveragePool(Tensor X, *, int count_include_pad=0, int[] kernel_shape, "
               "int[]? pads=None, int[]? strides=None) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Pad(Tensor data, Tensor pads, Tensor? constant_value=None, *, "
               "str mode='constant') -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Resize(Tensor X, Tensor? roi=None, Tensor? scales=None, Tensor? sizes=None, "
               "*, str coordinate_transformation_mode='half_pixel', float cubic_coeff_a=-0.75, "
               "str mode='nearest', str nearest_mode='round_prefer_floor') -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Ceil(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Floor(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Round(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Sign(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Tan(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Atan(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::IsNaN(Tensor X) -> Tensor", .infer = self_to_bool},
    {.schema = "onnx::IsInf(Tensor X) -> Tensor", .infer = self_to_bool},
    {.schema = "onnx::BitwiseAnd(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::BitwiseOr(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::BitwiseXor(Tensor A, Tensor B) -> Tensor", .infer = two, .traits = kCommutes},
    {.schema = "onnx::BitwiseNot(Tensor X) -> Tensor", .infer = self},
    {.schema = "onnx::Xor(Tensor A, Tensor B) -> Tensor",
     .infer = two_to_bool,
     .traits = kCommutes},
    {.schema = "onnx::LogSoftmax(Tensor input, *, int axis=-1) -> Tensor", .infer = self},
    {.schema = "onnx::ReduceProd(Tensor data, Tensor? axes=None, *, int keepdims=1) -> Tensor",
     .infer = nullptr},
    {.schema = "onnx::Shape(Tensor data, *, int start=0, int? end=None) -> Tensor", .infer = shape},
    {.schema = "onnx::Range(Tensor start, Tensor limit, Tensor delta) -> Tensor", .infer = nullptr},
};

}  // namespace

std::span<const OpRow> onnx_ops() { return kRows; }

}  // namespace slipway::onnx

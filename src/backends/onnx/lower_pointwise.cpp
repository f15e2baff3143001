// Lowering rows: arithmetic, activations, comparisons, selection.
#include "backends/onnx/lower.h"
#include "lowering/elementwise.h"

namespace slipway::onnx {
namespace {

using E = lowering::Elementwise<Lower>;

/// ONNX compares bool for equality only.
template <const char* kOp>
Value comparison(Lower& l) {
  DType dtype = lowering::comparison_dtype(l.args());
  if (dtype == DType::kBool && std::string_view(kOp) != "onnx::Equal") dtype = DType::kI32;
  return l(kOp, {l.in(0, dtype), l.operand(1, dtype)});
}

constexpr char kAdd[] = "onnx::Add", kSub[] = "onnx::Sub";
constexpr char kMul[] = "onnx::Mul", kDiv[] = "onnx::Div", kPow[] = "onnx::Pow";
constexpr char kMin[] = "onnx::Min", kMax[] = "onnx::Max", kNeg[] = "onnx::Neg";
constexpr char kAbs[] = "onnx::Abs", kExp[] = "onnx::Exp", kLog[] = "onnx::Log";
constexpr char kSqrt[] = "onnx::Sqrt", kReciprocal[] = "onnx::Reciprocal", kSin[] = "onnx::Sin";
constexpr char kCos[] = "onnx::Cos", kTanh[] = "onnx::Tanh", kErf[] = "onnx::Erf";
constexpr char kSigmoid[] = "onnx::Sigmoid", kRelu[] = "onnx::Relu", kEqual[] = "onnx::Equal";
constexpr char kLess[] = "onnx::Less", kLessOrEqual[] = "onnx::LessOrEqual";
constexpr char kGreater[] = "onnx::Greater", kGreaterOrEqual[] = "onnx::GreaterOrEqual";
constexpr char kAnd[] = "onnx::And", kOr[] = "onnx::Or";

Value gelu(Lower& l) {
  const Value x = l.in(0);
  const DType d = x.dtype();
  const bool tanh = l.args().text(1) == "tanh";
  if (l.opset() >= 20) return l("onnx::Gelu", {x, named("approximate", tanh ? "tanh" : "none")});
  const auto times = [&](Value a, double b) { return l("onnx::Mul", {a, l.scalar(b, d)}); };
  Value inner;
  if (tanh) {
    const Value cube = l("onnx::Mul", {l("onnx::Mul", {x, x}), x});
    inner =
        l("onnx::Tanh", {times(l("onnx::Add", {x, times(cube, 0.044715)}), 0.7978845608028654)});
  } else {
    inner = l("onnx::Erf", {l("onnx::Div", {x, l.scalar(1.4142135623730951, d)})});
  }
  return times(l("onnx::Mul", {x, l("onnx::Add", {inner, l.scalar(1.0, d)})}), 0.5);
}

Value not_equal(Lower& l) { return l("onnx::Not", {comparison<kEqual>(l)}); }

const LoweringRow kRows[] = {
    {"aten::add.Tensor", E::sum<kAdd, kMul, kOr>},
    {"aten::add.Scalar", E::sum<kAdd, kMul, kOr>},
    {"aten::sub.Tensor", E::sum<kSub, kMul>},
    {"aten::sub.Scalar", E::sum<kSub, kMul>},
    {"aten::rsub.Scalar", E::reversed_difference<kSub, kMul>},
    {"aten::mul.Tensor", E::binary<kMul, kAnd>},
    {"aten::mul.Scalar", E::binary<kMul, kAnd>},
    {"aten::div.Tensor", E::binary<kDiv>},
    {"aten::div.Scalar", E::binary<kDiv>},
    {"aten::pow.Tensor_Scalar", E::binary<kPow>},
    {"aten::pow.Tensor_Tensor", E::binary<kPow>},
    {"aten::minimum", E::binary<kMin, kAnd>},
    {"aten::maximum", E::binary<kMax, kOr>},
    {"aten::neg", E::unary<kNeg>},
    {"aten::abs", E::unary<kAbs>},
    {"aten::exp", E::unary<kExp>},
    {"aten::log", E::unary<kLog>},
    {"aten::sqrt", E::unary<kSqrt>},
    {"aten::rsqrt", [](Lower& l) { return l(kReciprocal, {E::unary<kSqrt>(l)}); }},
    {"aten::reciprocal", E::unary<kReciprocal>},
    {"aten::sin", E::unary<kSin>},
    {"aten::cos", E::unary<kCos>},
    {"aten::tanh", E::unary<kTanh>},
    {"aten::erf", E::unary<kErf>},
    {"aten::sigmoid", E::unary<kSigmoid>},
    {"aten::relu",
     [](Lower& l) {
       if (is_floating(l.out().dtype)) return E::unary<kRelu>(l);
       return l(kMax, {l.in(0), l.scalar(0.0, l.out().dtype)});
     }},
    {"aten::silu",
     [](Lower& l) {
       return l(kMul, {l.in(0), l(kSigmoid, {l.in(0)})});
     }},
    {"aten::gelu", gelu},
    {"aten::_to_copy", [](Lower& l) { return l.in(0, l.out().dtype); }},
    {"aten::eq.Tensor", comparison<kEqual>},
    {"aten::eq.Scalar", comparison<kEqual>},
    {"aten::ne.Tensor", not_equal},
    {"aten::ne.Scalar", not_equal},
    {"aten::lt.Tensor", comparison<kLess>},
    {"aten::lt.Scalar", comparison<kLess>},
    {"aten::le.Tensor", comparison<kLessOrEqual>},
    {"aten::le.Scalar", comparison<kLessOrEqual>},
    {"aten::gt.Tensor", comparison<kGreater>},
    {"aten::gt.Scalar", comparison<kGreater>},
    {"aten::ge.Tensor", comparison<kGreaterOrEqual>},
    {"aten::ge.Scalar", comparison<kGreaterOrEqual>},
    {"aten::logical_and", E::logical<kAnd>},
    {"aten::logical_or", E::logical<kOr>},
    {"aten::logical_not", [](Lower& l) { return l("onnx::Not", {l.in(0, DType::kBool)}); }},
    {"aten::where.self",
     [](Lower& l) {
       return l("onnx::Where", {l.in(0), l.in(1, l.out().dtype), l.in(2, l.out().dtype)});
     }},
    {"aten::masked_fill.Scalar",
     [](Lower& l) {
       return l("onnx::Where", {l.in(1), l.operand(2, l.out().dtype), l.in(0)});
     }},
};

}  // namespace

std::span<const LoweringRow> pointwise_rows() { return kRows; }

}  // namespace slipway::onnx

// Lowering rows: arithmetic, activations, comparisons, selection.
#include "backends/openvino/lower.h"
#include "lowering/elementwise.h"

namespace slipway::openvino {
namespace {

using E = lowering::Elementwise<Lower>;

/// False is less than true as a number.
template <const char* kOp>
Value comparison(Lower& l) {
  const DType wanted = computed_as(lowering::comparison_dtype(l.args()));
  const DType dtype = wanted == DType::kBool ? DType::kI32 : wanted;
  return l(kOp, {l.in(0, dtype), l.operand(1, dtype)});
}

constexpr char kAdd[] = "ov::Add", kSub[] = "ov::Subtract";
constexpr char kMul[] = "ov::Multiply", kDiv[] = "ov::Divide", kPow[] = "ov::Power";
constexpr char kMin[] = "ov::Minimum", kMax[] = "ov::Maximum", kNeg[] = "ov::Negative";
constexpr char kAbs[] = "ov::Abs", kExp[] = "ov::Exp", kLog[] = "ov::Log", kSqrt[] = "ov::Sqrt";
constexpr char kSin[] = "ov::Sin", kCos[] = "ov::Cos", kTanh[] = "ov::Tanh", kErf[] = "ov::Erf";
constexpr char kSigmoid[] = "ov::Sigmoid", kRelu[] = "ov::ReLU", kSwish[] = "ov::Swish";
constexpr char kEqual[] = "ov::Equal", kNotEqual[] = "ov::NotEqual", kLess[] = "ov::Less";
constexpr char kLessEqual[] = "ov::LessEqual", kGreater[] = "ov::Greater";
constexpr char kGreaterEqual[] = "ov::GreaterEqual", kAnd[] = "ov::LogicalAnd";
constexpr char kOr[] = "ov::LogicalOr";

Value reciprocal(Lower& l, Value x) { return l(kDiv, {l.scalar(1.0, x.dtype()), x}); }

Value relu(Lower& l) {
  if (is_floating(l.out().dtype)) return E::unary<kRelu>(l);
  return l(kMax, {l.in(0), l.scalar(0.0, l.out().dtype)});
}

Value gelu(Lower& l) {
  const char* mode = l.args().text(1) == "tanh" ? "TANH" : "ERF";
  return l("ov::Gelu", {l.in(0), named("approximation_mode", mode)});
}

Value where(Lower& l) {
  return l("ov::Select", {l.in(0), l.in(1, l.out().dtype), l.in(2, l.out().dtype)});
}

Value masked_fill(Lower& l) {
  return l("ov::Select", {l.in(1), l.operand(2, l.out().dtype), l.in(0)});
}

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
    {"aten::rsqrt", [](Lower& l) { return reciprocal(l, E::unary<kSqrt>(l)); }},
    {"aten::reciprocal", [](Lower& l) { return reciprocal(l, l.in(0, l.out().dtype)); }},
    {"aten::sin", E::unary<kSin>},
    {"aten::cos", E::unary<kCos>},
    {"aten::tanh", E::unary<kTanh>},
    {"aten::erf", E::unary<kErf>},
    {"aten::sigmoid", E::unary<kSigmoid>},
    {"aten::relu", relu},
    {"aten::silu", E::unary<kSwish>},
    {"aten::gelu", gelu},
    {"aten::_to_copy", [](Lower& l) { return l.in(0, l.out().dtype); }},
    {"aten::eq.Tensor", comparison<kEqual>},
    {"aten::eq.Scalar", comparison<kEqual>},
    {"aten::ne.Tensor", comparison<kNotEqual>},
    {"aten::ne.Scalar", comparison<kNotEqual>},
    {"aten::lt.Tensor", comparison<kLess>},
    {"aten::lt.Scalar", comparison<kLess>},
    {"aten::le.Tensor", comparison<kLessEqual>},
    {"aten::le.Scalar", comparison<kLessEqual>},
    {"aten::gt.Tensor", comparison<kGreater>},
    {"aten::gt.Scalar", comparison<kGreater>},
    {"aten::ge.Tensor", comparison<kGreaterEqual>},
    {"aten::ge.Scalar", comparison<kGreaterEqual>},
    {"aten::logical_and", E::logical<kAnd>},
    {"aten::logical_or", E::logical<kOr>},
    {"aten::logical_not", [](Lower& l) { return l("ov::LogicalNot", {l.in(0, DType::kBool)}); }},
    {"aten::where.self", where},
    {"aten::masked_fill.Scalar", masked_fill},
};

}  // namespace

std::span<const LoweringRow> pointwise_rows() { return kRows; }

}  // namespace slipway::openvino

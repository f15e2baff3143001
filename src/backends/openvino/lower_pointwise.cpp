// Lowering rows: arithmetic, activations, comparisons, selection.
#include "backends/openvino/lower.h"
#include "ir/ops/infer.h"

namespace slipway::openvino {
namespace {

/// alpha scales the second operand of additions.
Value second(Lower& l, DType dtype) {
  const Value b = l.operand(1, dtype);
  const double alpha = l.args().number(2);
  return alpha == 1.0 ? b : l("ov::Multiply", {b, l.scalar(alpha, dtype)});
}

/// On bool, sums are "or" and products "and".
Value add(Lower& l) {
  const DType d = l.out().dtype;
  if (d == DType::kBool) return l("ov::LogicalOr", {l.in(0), l.operand(1, d)});
  return l("ov::Add", {l.in(0, d), second(l, d)});
}

Value sub(Lower& l) {
  return l("ov::Subtract", {l.in(0, l.out().dtype), second(l, l.out().dtype)});
}

Value reversed_sub(Lower& l) {
  const DType d = l.out().dtype;
  Value x = l.in(0, d);
  if (l.args().number(2) != 1.0) x = l("ov::Multiply", {x, l.scalar(l.args().number(2), d)});
  return l("ov::Subtract", {l.operand(1, d), x});
}

template <const char* kOp, const char* kLogic = nullptr>
Value arithmetic(Lower& l) {
  const DType d = l.out().dtype;
  const bool logic = d == DType::kBool && kLogic != nullptr;
  return l(logic ? kLogic : kOp, {l.in(0, d), l.operand(1, d)});
}

template <const char* kOp>
Value unary(Lower& l) {
  return l(kOp, {l.in(0, l.out().dtype)});
}

/// The dtype both sides of a comparison are brought to.
DType common(Lower& l) {
  const DType a = l.args().type(0).dtype;
  if (std::holds_alternative<Value>(l.args()[1]))
    return computed_as(ops::promote(l.args().type(0), l.args().type(1)));
  if (std::holds_alternative<double>(l.args()[1]) && !is_floating(a)) return DType::kF32;
  return a == DType::kBool && std::holds_alternative<Sym>(l.args()[1]) ? DType::kI64
                                                                       : computed_as(a);
}

/// False is less than true as a number.
template <const char* kOp>
Value comparison(Lower& l) {
  const DType wanted = common(l);
  const DType dtype = wanted == DType::kBool ? DType::kI32 : wanted;
  return l(kOp, {l.in(0, dtype), l.operand(1, dtype)});
}

template <const char* kOp>
Value logical(Lower& l) {
  return l(kOp, {l.in(0, DType::kBool), l.in(1, DType::kBool)});
}

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
  if (is_floating(l.out().dtype)) return unary<kRelu>(l);
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
    {"aten::add.Tensor", add},
    {"aten::add.Scalar", add},
    {"aten::sub.Tensor", sub},
    {"aten::sub.Scalar", sub},
    {"aten::rsub.Scalar", reversed_sub},
    {"aten::mul.Tensor", arithmetic<kMul, kAnd>},
    {"aten::mul.Scalar", arithmetic<kMul, kAnd>},
    {"aten::div.Tensor", arithmetic<kDiv>},
    {"aten::div.Scalar", arithmetic<kDiv>},
    {"aten::pow.Tensor_Scalar", arithmetic<kPow>},
    {"aten::pow.Tensor_Tensor", arithmetic<kPow>},
    {"aten::minimum", arithmetic<kMin, kAnd>},
    {"aten::maximum", arithmetic<kMax, kOr>},
    {"aten::neg", unary<kNeg>},
    {"aten::abs", unary<kAbs>},
    {"aten::exp", unary<kExp>},
    {"aten::log", unary<kLog>},
    {"aten::sqrt", unary<kSqrt>},
    {"aten::rsqrt", [](Lower& l) { return reciprocal(l, unary<kSqrt>(l)); }},
    {"aten::reciprocal", [](Lower& l) { return reciprocal(l, l.in(0, l.out().dtype)); }},
    {"aten::sin", unary<kSin>},
    {"aten::cos", unary<kCos>},
    {"aten::tanh", unary<kTanh>},
    {"aten::erf", unary<kErf>},
    {"aten::sigmoid", unary<kSigmoid>},
    {"aten::relu", relu},
    {"aten::silu", unary<kSwish>},
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
    {"aten::logical_and", logical<kAnd>},
    {"aten::logical_or", logical<kOr>},
    {"aten::logical_not", [](Lower& l) { return l("ov::LogicalNot", {l.in(0, DType::kBool)}); }},
    {"aten::where.self", where},
    {"aten::masked_fill.Scalar", masked_fill},
};

}  // namespace

std::span<const LoweringRow> pointwise_rows() { return kRows; }

}  // namespace slipway::openvino

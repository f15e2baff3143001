// Lowering rows: arithmetic, activations, comparisons, selection.
#include "backends/onnx/lower.h"
#include "ir/ops/infer.h"

namespace slipway::onnx {
namespace {

/// alpha scales the second operand of additions.
Value second(Lower& l, DType dtype) {
  const Value b = l.operand(1, dtype);
  const double alpha = l.args().number(2);
  return alpha == 1.0 ? b : l("onnx::Mul", {b, l.scalar(alpha, dtype)});
}

/// On bool, sums are "or" and products "and".
Value add(Lower& l) {
  const DType d = l.out().dtype;
  if (d == DType::kBool) return l("onnx::Or", {l.in(0), l.operand(1, d)});
  return l("onnx::Add", {l.in(0, d), second(l, d)});
}
Value sub(Lower& l) { return l("onnx::Sub", {l.in(0, l.out().dtype), second(l, l.out().dtype)}); }

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
    return ops::promote(l.args().type(0), l.args().type(1));
  if (std::holds_alternative<double>(l.args()[1]) && !is_floating(a)) return DType::kF32;
  return a == DType::kBool && std::holds_alternative<Sym>(l.args()[1]) ? DType::kI64 : a;
}

/// ONNX compares bool for equality only.
template <const char* kOp>
Value comparison(Lower& l) {
  DType dtype = common(l);
  if (dtype == DType::kBool && std::string_view(kOp) != "onnx::Equal") dtype = DType::kI32;
  return l(kOp, {l.in(0, dtype), l.operand(1, dtype)});
}

template <const char* kOp>
Value logical(Lower& l) {
  return l(kOp, {l.in(0, DType::kBool), l.in(1, DType::kBool)});
}

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
    {"aten::add.Tensor", add},
    {"aten::add.Scalar", add},
    {"aten::sub.Tensor", sub},
    {"aten::sub.Scalar", sub},
    {"aten::rsub.Scalar",
     [](Lower& l) {
       const DType d = l.out().dtype;
       Value x = l.in(0, d);
       if (l.args().number(2) != 1.0) x = l("onnx::Mul", {x, l.scalar(l.args().number(2), d)});
       return l("onnx::Sub", {l.operand(1, d), x});
     }},
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
    {"aten::rsqrt", [](Lower& l) { return l(kReciprocal, {unary<kSqrt>(l)}); }},
    {"aten::reciprocal", unary<kReciprocal>},
    {"aten::sin", unary<kSin>},
    {"aten::cos", unary<kCos>},
    {"aten::tanh", unary<kTanh>},
    {"aten::erf", unary<kErf>},
    {"aten::sigmoid", unary<kSigmoid>},
    {"aten::relu",
     [](Lower& l) {
       if (is_floating(l.out().dtype)) return unary<kRelu>(l);
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
    {"aten::logical_and", logical<kAnd>},
    {"aten::logical_or", logical<kOr>},
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

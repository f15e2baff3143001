// Lowering rows: arithmetic, activations, comparisons, selection.
#include "backends/executorch/lower.h"
#include "lowering/elementwise.h"

namespace slipway::executorch {
namespace {

using E = lowering::Elementwise<Lower>;

constexpr char kAdd[] = "et::add.out", kSub[] = "et::sub.out", kMul[] = "et::mul.out";
constexpr char kDiv[] = "et::div.out", kPow[] = "et::pow.Tensor_Tensor_out";
constexpr char kMin[] = "et::minimum.out", kMax[] = "et::maximum.out", kNeg[] = "et::neg.out";
constexpr char kAbs[] = "et::abs.out", kExp[] = "et::exp.out", kLog[] = "et::log.out";
constexpr char kSqrt[] = "et::sqrt.out", kRsqrt[] = "et::rsqrt.out";
constexpr char kReciprocal[] = "et::reciprocal.out", kSin[] = "et::sin.out", kCos[] = "et::cos.out";
constexpr char kTanh[] = "et::tanh.out", kErf[] = "et::erf.out", kSigmoid[] = "et::sigmoid.out";
constexpr char kRelu[] = "et::relu.out", kEqual[] = "et::eq.Tensor_out";
constexpr char kNotEqual[] = "et::ne.Tensor_out", kLess[] = "et::lt.Tensor_out";
constexpr char kLessEqual[] = "et::le.Tensor_out", kGreater[] = "et::gt.Tensor_out";
constexpr char kGreaterEqual[] = "et::ge.Tensor_out", kAnd[] = "et::logical_and.out";
constexpr char kOr[] = "et::logical_or.out";

template <const char* kOp>
Value comparison(Lower& l) {
  const DType dtype = lowering::comparison_dtype(l.args());
  return l(kOp, {l.in(0, dtype), l.operand(1, dtype)});
}

/// A square is a product: the power's kernel is slower and no delegate takes it.
Value power(Lower& l) {
  const DType d = l.out().dtype;
  const Value x = l.in(0, d);
  const auto* size = std::get_if<Sym>(&l.args()[1]);
  const bool number =
      std::holds_alternative<double>(l.args()[1]) || (size != nullptr && size->is_const());
  if (number && l.args().number(1) == 2.0) return l(kMul, {x, x});
  return l(kPow, {x, l.operand(1, d)});
}

Value silu(Lower& l) {
  const Value x = l.in(0, l.out().dtype);
  return l(kMul, {x, l(kSigmoid, {x})});
}

Value gelu(Lower& l) {
  return l("et::gelu.out", {l.in(0), named("approximate", l.args().text(1))});
}

Value where(Lower& l) {
  const DType d = l.out().dtype;
  return l("et::where.self_out", {l.in(0), l.in(1, d), l.in(2, d)});
}

Value masked_fill(Lower& l) {
  return l("et::where.self_out", {l.in(1), l.operand(2, l.out().dtype), l.in(0)});
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
    {"aten::pow.Tensor_Scalar", power},
    {"aten::pow.Tensor_Tensor", power},
    {"aten::minimum", E::binary<kMin, kAnd>},
    {"aten::maximum", E::binary<kMax, kOr>},
    {"aten::neg", E::unary<kNeg>},
    {"aten::abs", E::unary<kAbs>},
    {"aten::exp", E::unary<kExp>},
    {"aten::log", E::unary<kLog>},
    {"aten::sqrt", E::unary<kSqrt>},
    {"aten::rsqrt", E::unary<kRsqrt>},
    {"aten::reciprocal", E::unary<kReciprocal>},
    {"aten::sin", E::unary<kSin>},
    {"aten::cos", E::unary<kCos>},
    {"aten::tanh", E::unary<kTanh>},
    {"aten::erf", E::unary<kErf>},
    {"aten::sigmoid", E::unary<kSigmoid>},
    {"aten::relu", E::unary<kRelu>},
    {"aten::silu", silu},
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
    {"aten::logical_not",
     [](Lower& l) { return l("et::logical_not.out", {l.in(0, DType::kBool)}); }},
    {"aten::where.self", where},
    {"aten::masked_fill.Scalar", masked_fill},
};

}  // namespace

std::span<const LoweringRow> pointwise_rows() { return kRows; }

}  // namespace slipway::executorch

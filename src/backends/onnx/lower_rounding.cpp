// Lowering rows: rounding, division with rounding, bits, limits and tests of numbers.
#include "backends/onnx/lower.h"
#include "lowering/elementwise.h"

namespace slipway::onnx {
namespace {

using E = lowering::Elementwise<Lower>;

constexpr char kMul[] = "onnx::Mul", kAbs[] = "onnx::Abs";
constexpr char kMin[] = "onnx::Min", kMax[] = "onnx::Max";
constexpr char kCeil[] = "onnx::Ceil", kFloor[] = "onnx::Floor", kRound[] = "onnx::Round";
constexpr char kSign[] = "onnx::Sign", kTan[] = "onnx::Tan", kAtan[] = "onnx::Atan";
constexpr char kIsNaN[] = "onnx::IsNaN", kIsInf[] = "onnx::IsInf";
constexpr char kAnd[] = "onnx::And", kOr[] = "onnx::Or", kXor[] = "onnx::Xor";
constexpr char kBitAnd[] = "onnx::BitwiseAnd", kBitOr[] = "onnx::BitwiseOr";
constexpr char kBitXor[] = "onnx::BitwiseXor";

Value truncated(Lower& l, Value x) { return E::truncated<kMul, kSign, kFloor, kAbs>(l, x); }

/// Integers are neither infinite nor NaN.
template <const char* kOp>
Value test(Lower& l) {
  const Value x = l.in(0);
  if (x.is_floating()) return l(kOp, {x});
  return l("onnx::Not", {l("onnx::Equal", {x, x})});
}

/// The remainder with the divisor's sign.
Value modulo(Lower& l, Value x, Value y) {
  if (!x.is_floating()) return l("onnx::Mod", {x, y});
  const Value rest = l("onnx::Mod", {x, y, named("fmod", 1)});
  const Value zero = l.scalar(0.0, x.dtype());
  const auto negative = [&](Value v) { return l("onnx::Less", {v, zero}); };
  const Value other = l("onnx::And", {l("onnx::Not", {l("onnx::Equal", {rest, zero})}),
                                      l("onnx::Xor", {negative(rest), negative(y)})});
  return l("onnx::Where", {other, l("onnx::Add", {rest, y}), rest});
}

Value div_mode(Lower& l) {
  const DType d = l.out().dtype;
  const Value x = l.in(0, d), y = l.operand(1, d);
  if (!l.has(2)) return l("onnx::Div", {x, y});
  const bool floor = l.args().text(2) == "floor";
  if (is_floating(d)) {
    const Value exact = l("onnx::Div", {x, y});
    return floor ? l("onnx::Floor", {exact}) : truncated(l, exact);
  }
  // Div rounds integers towards zero: take the remainder out before.
  return l("onnx::Div", {floor ? l("onnx::Sub", {x, l("onnx::Mod", {x, y})}) : x, y});
}

const LoweringRow kRows[] = {
    {"aten::ceil", E::rounded<kCeil>},
    {"aten::floor", E::rounded<kFloor>},
    {"aten::round", E::rounded<kRound>},
    {"aten::trunc",
     [](Lower& l) { return l.in(0).is_floating() ? truncated(l, l.in(0)) : l.in(0); }},
    {"aten::sign", E::unary<kSign>},
    {"aten::tan", E::unary<kTan>},
    {"aten::atan", E::unary<kAtan>},
    {"aten::isnan", test<kIsNaN>},
    {"aten::isinf", test<kIsInf>},
    {"aten::bitwise_and.Tensor", E::binary<kBitAnd, kAnd>},
    {"aten::bitwise_and.Scalar", E::binary<kBitAnd, kAnd>},
    {"aten::bitwise_or.Tensor", E::binary<kBitOr, kOr>},
    {"aten::bitwise_or.Scalar", E::binary<kBitOr, kOr>},
    {"aten::bitwise_xor.Tensor", E::binary<kBitXor, kXor>},
    {"aten::bitwise_xor.Scalar", E::binary<kBitXor, kXor>},
    {"aten::bitwise_not",
     [](Lower& l) {
       return l(l.out().dtype == DType::kBool ? "onnx::Not" : "onnx::BitwiseNot", {l.in(0)});
     }},
    {"aten::div.Tensor_mode", div_mode},
    {"aten::div.Scalar_mode", div_mode},
    {"aten::remainder.Tensor",
     [](Lower& l) { return modulo(l, l.in(0, l.out().dtype), l.operand(1, l.out().dtype)); }},
    {"aten::remainder.Scalar",
     [](Lower& l) { return modulo(l, l.in(0, l.out().dtype), l.operand(1, l.out().dtype)); }},
    {"aten::fmod.Tensor",
     [](Lower& l) {
       const DType d = l.out().dtype;
       return l("onnx::Mod", {l.in(0, d), l.operand(1, d), named("fmod", 1)});
     }},
    {"aten::fmod.Scalar",
     [](Lower& l) {
       const DType d = l.out().dtype;
       return l("onnx::Mod", {l.in(0, d), l.operand(1, d), named("fmod", 1)});
     }},
    {"aten::clamp", E::clamp<kMin, kMax>},
};

}  // namespace

std::span<const LoweringRow> rounding_rows() { return kRows; }

}  // namespace slipway::onnx

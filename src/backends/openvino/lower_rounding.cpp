// Lowering rows: rounding, division with rounding, bits, limits and tests of numbers.
#include "backends/openvino/lower.h"
#include "lowering/elementwise.h"

namespace slipway::openvino {
namespace {

using E = lowering::Elementwise<Lower>;

constexpr char kMul[] = "ov::Multiply", kAbs[] = "ov::Abs";
constexpr char kMin[] = "ov::Minimum", kMax[] = "ov::Maximum";
constexpr char kCeil[] = "ov::Ceiling", kFloor[] = "ov::Floor", kRound[] = "ov::Round";
constexpr char kSign[] = "ov::Sign", kTan[] = "ov::Tan", kAtan[] = "ov::Atan";
constexpr char kIsNaN[] = "ov::IsNaN", kIsInf[] = "ov::IsInf";
constexpr char kBitAnd[] = "ov::BitwiseAnd", kBitOr[] = "ov::BitwiseOr";
constexpr char kBitXor[] = "ov::BitwiseXor", kAnd[] = "ov::LogicalAnd", kOr[] = "ov::LogicalOr";
constexpr char kXor[] = "ov::LogicalXor", kMod[] = "ov::Mod", kFloorMod[] = "ov::FloorMod";

Value truncated(Lower& l, Value x) { return E::truncated<kMul, kSign, kFloor, kAbs>(l, x); }

/// Integers are neither infinite nor NaN.
template <const char* kOp>
Value test(Lower& l) {
  const Value x = l.in(0);
  return x.is_floating() ? l(kOp, {x}) : l("ov::NotEqual", {x, x});
}

Value div_mode(Lower& l) {
  const DType d = l.out().dtype;
  const Value x = l.in(0, d), y = l.operand(1, d);
  if (!l.has(2)) return l("ov::Divide", {x, y});
  const bool floor = l.args().text(2) == "floor";
  if (is_floating(d)) {
    const Value exact = l("ov::Divide", {x, y});
    return floor ? l("ov::Floor", {exact}) : truncated(l, exact);
  }
  // Take the remainder out before, so that nothing is left to round.
  const Value rest = l(floor ? "ov::FloorMod" : "ov::Mod", {x, y});
  return l("ov::Divide", {l("ov::Subtract", {x, rest}), y, named("m_pythondiv", floor)});
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
       return l(l.out().dtype == DType::kBool ? "ov::LogicalNot" : "ov::BitwiseNot", {l.in(0)});
     }},
    {"aten::div.Tensor_mode", div_mode},
    {"aten::div.Scalar_mode", div_mode},
    {"aten::remainder.Tensor", E::binary<kFloorMod>},
    {"aten::remainder.Scalar", E::binary<kFloorMod>},
    {"aten::fmod.Tensor", E::binary<kMod>},
    {"aten::fmod.Scalar", E::binary<kMod>},
    {"aten::clamp", E::clamp<kMin, kMax>},
};

}  // namespace

std::span<const LoweringRow> rounding_rows() { return kRows; }

}  // namespace slipway::openvino

// Lowering rows: rounding, division with rounding, bits, limits and tests of numbers.
#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

/// Integers are whole already.
template <const char* kOp>
Value rounded(Lower& l) {
  return l.in(0).is_floating() ? l(kOp, {l.in(0)}) : l.in(0);
}

Value truncated(Lower& l, Value x) {
  return l("ov::Multiply", {l("ov::Sign", {x}), l("ov::Floor", {l("ov::Abs", {x})})});
}

template <const char* kOp>
Value unary(Lower& l) {
  return l(kOp, {l.in(0, l.out().dtype)});
}

/// Integers are neither infinite nor NaN.
template <const char* kOp>
Value test(Lower& l) {
  const Value x = l.in(0);
  return x.is_floating() ? l(kOp, {x}) : l("ov::NotEqual", {x, x});
}

template <const char* kBits, const char* kLogic>
Value bits(Lower& l) {
  const DType d = l.out().dtype;
  return l(d == DType::kBool ? kLogic : kBits, {l.in(0, d), l.operand(1, d)});
}

template <const char* kOp>
Value remainder(Lower& l) {
  const DType d = l.out().dtype;
  return l(kOp, {l.in(0, d), l.operand(1, d)});
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

Value clamp(Lower& l) {
  const DType d = l.out().dtype;
  Value x = l.in(0, d);
  if (l.has(1)) x = l("ov::Maximum", {x, l.operand(1, d)});
  if (l.has(2)) x = l("ov::Minimum", {x, l.operand(2, d)});
  return x;
}

constexpr char kCeil[] = "ov::Ceiling", kFloor[] = "ov::Floor", kRound[] = "ov::Round";
constexpr char kSign[] = "ov::Sign", kTan[] = "ov::Tan", kAtan[] = "ov::Atan";
constexpr char kIsNaN[] = "ov::IsNaN", kIsInf[] = "ov::IsInf";
constexpr char kBitAnd[] = "ov::BitwiseAnd", kBitOr[] = "ov::BitwiseOr";
constexpr char kBitXor[] = "ov::BitwiseXor", kAnd[] = "ov::LogicalAnd", kOr[] = "ov::LogicalOr";
constexpr char kXor[] = "ov::LogicalXor", kMod[] = "ov::Mod", kFloorMod[] = "ov::FloorMod";

const LoweringRow kRows[] = {
    {"aten::ceil", rounded<kCeil>},
    {"aten::floor", rounded<kFloor>},
    {"aten::round", rounded<kRound>},
    {"aten::trunc",
     [](Lower& l) { return l.in(0).is_floating() ? truncated(l, l.in(0)) : l.in(0); }},
    {"aten::sign", unary<kSign>},
    {"aten::tan", unary<kTan>},
    {"aten::atan", unary<kAtan>},
    {"aten::isnan", test<kIsNaN>},
    {"aten::isinf", test<kIsInf>},
    {"aten::bitwise_and.Tensor", bits<kBitAnd, kAnd>},
    {"aten::bitwise_and.Scalar", bits<kBitAnd, kAnd>},
    {"aten::bitwise_or.Tensor", bits<kBitOr, kOr>},
    {"aten::bitwise_or.Scalar", bits<kBitOr, kOr>},
    {"aten::bitwise_xor.Tensor", bits<kBitXor, kXor>},
    {"aten::bitwise_xor.Scalar", bits<kBitXor, kXor>},
    {"aten::bitwise_not",
     [](Lower& l) {
       return l(l.out().dtype == DType::kBool ? "ov::LogicalNot" : "ov::BitwiseNot", {l.in(0)});
     }},
    {"aten::div.Tensor_mode", div_mode},
    {"aten::div.Scalar_mode", div_mode},
    {"aten::remainder.Tensor", remainder<kFloorMod>},
    {"aten::remainder.Scalar", remainder<kFloorMod>},
    {"aten::fmod.Tensor", remainder<kMod>},
    {"aten::fmod.Scalar", remainder<kMod>},
    {"aten::clamp", clamp},
};

}  // namespace

std::span<const LoweringRow> rounding_rows() { return kRows; }

}  // namespace slipway::openvino

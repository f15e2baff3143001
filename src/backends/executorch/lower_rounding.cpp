// Lowering rows: rounding, division with rounding, bits, limits and tests of numbers.
#include "backends/executorch/lower.h"
#include "lowering/elementwise.h"

namespace slipway::executorch {
namespace {

using E = lowering::Elementwise<Lower>;

constexpr char kCeil[] = "et::ceil.out", kFloor[] = "et::floor.out", kRound[] = "et::round.out";
constexpr char kTrunc[] = "et::trunc.out", kSign[] = "et::sign.out", kTan[] = "et::tan.out";
constexpr char kAtan[] = "et::atan.out", kIsNaN[] = "et::isnan.out", kIsInf[] = "et::isinf.out";
constexpr char kBitAnd[] = "et::bitwise_and.Tensor_out", kBitOr[] = "et::bitwise_or.Tensor_out";
constexpr char kBitXor[] = "et::bitwise_xor.Tensor_out", kNot[] = "et::bitwise_not.out";
constexpr char kFmod[] = "et::fmod.Tensor_out";
constexpr char kMin[] = "et::minimum.out", kMax[] = "et::maximum.out";

template <const char* kOp>
Value test(Lower& l) {
  return l(kOp, {l.in(0)});
}

Value div_mode(Lower& l) {
  const DType d = l.out().dtype;
  const Value x = l.in(0, d), y = l.operand(1, d);
  if (!l.has(2)) return l("et::div.out", {x, y});
  return l("et::div.out_mode", {x, y, named("rounding_mode", l.args().text(2))});
}

/// The kernel of integers does not take the divisor's sign: the quotient's does.
Value remainder(Lower& l) {
  const DType d = l.out().dtype;
  const Value x = l.in(0, d), y = l.operand(1, d);
  if (is_floating(d)) return l("et::remainder.Tensor_out", {x, y});
  const Value quotient = l("et::div.out_mode", {x, y, named("rounding_mode", "floor")});
  return l("et::sub.out", {x, l("et::mul.out", {quotient, y})});
}

/// Limits that are numbers are arguments of the kernel.
Value clamp(Lower& l) {
  for (const size_t i : {size_t{1}, size_t{2}})
    if (const auto* s = std::get_if<Sym>(&l.args()[i]); s != nullptr && !s->is_const())
      return E::clamp<kMin, kMax>(l);
  return l("et::clamp.out", {l.in(0, l.out().dtype), l.args()[1], l.args()[2]});
}

const LoweringRow kRows[] = {
    {"aten::ceil", E::rounded<kCeil>},
    {"aten::floor", E::rounded<kFloor>},
    {"aten::round", E::rounded<kRound>},
    {"aten::trunc", E::rounded<kTrunc>},
    {"aten::sign", E::unary<kSign>},
    {"aten::tan", E::unary<kTan>},
    {"aten::atan", E::unary<kAtan>},
    {"aten::isnan", test<kIsNaN>},
    {"aten::isinf", test<kIsInf>},
    {"aten::bitwise_and.Tensor", E::binary<kBitAnd>},
    {"aten::bitwise_and.Scalar", E::binary<kBitAnd>},
    {"aten::bitwise_or.Tensor", E::binary<kBitOr>},
    {"aten::bitwise_or.Scalar", E::binary<kBitOr>},
    {"aten::bitwise_xor.Tensor", E::binary<kBitXor>},
    {"aten::bitwise_xor.Scalar", E::binary<kBitXor>},
    {"aten::bitwise_not", test<kNot>},
    {"aten::div.Tensor_mode", div_mode},
    {"aten::div.Scalar_mode", div_mode},
    {"aten::remainder.Tensor", remainder},
    {"aten::remainder.Scalar", remainder},
    {"aten::fmod.Tensor", E::binary<kFmod>},
    {"aten::fmod.Scalar", E::binary<kFmod>},
    {"aten::clamp", clamp},
};

}  // namespace

std::span<const LoweringRow> rounding_rows() { return kRows; }

}  // namespace slipway::executorch

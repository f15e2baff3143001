// Rounding, division with rounding, bits, limits and tests of numbers.
#include <limits>

#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

constexpr uint32_t kEach = kElementwise;

/// Integers and bool only.
void require_bits(const Args& a) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (i >= a.size() || !std::holds_alternative<Value>(a[i])) continue;
    if (is_floating(a.type(i).dtype)) a.fail("needs integers or bool");
  }
}
std::vector<ValueType> bits(const Args& a) {
  require_bits(a);
  return a.size() == 1 ? same_as_self(a) : binary(a);
}
std::vector<ValueType> bits_with_scalar(const Args& a) {
  require_bits(a);
  if (std::holds_alternative<double>(a[1])) a.fail("needs integers or bool");
  return with_scalar(a);
}

/// rounding_mode None divides truly.
std::vector<ValueType> divided(const Args& a) {
  const bool tensor = std::holds_alternative<Value>(a[1]);
  std::vector<ValueType> out = tensor ? binary(a) : with_scalar(a);
  if (!a.has(2)) out[0].dtype = to_floating(out[0].dtype);
  else if (a.text(2) != "floor" && a.text(2) != "trunc")
    a.fail("rounding_mode must be 'floor' or 'trunc'");
  return out;
}

std::vector<ValueType> not_bool(const Args& a) {
  if (a.type(0).dtype == DType::kBool) a.fail("is not defined on bool");
  return same_as_self(a);
}

/// Either bound may be None; a float bound makes integers floats.
std::vector<ValueType> clamped(const Args& a) {
  if (!a.has(1) && (a.size() < 3 || !a.has(2))) a.fail("needs min or max");
  ValueType out = a.type(0);
  for (size_t i = 1; i < a.size(); ++i)
    if (a.has(i)) out.dtype = promote_scalar(out.dtype, a[i]);
  return {out};
}

template <const char* kLower, const char* kUpper>
Values between(const Args& a) {
  Value x = a.value(0);
  if (!a.has(1) && !a.has(2)) a.fail("needs min or max");
  if (a.has(1)) x = emit(a, kLower, x, a.value(1));
  if (a.has(2)) x = emit(a, kUpper, x, a.value(2));
  return {x};
}
constexpr char kMinimum[] = "aten::minimum", kMaximum[] = "aten::maximum";

Values floor_divided(const Args& a) {
  const bool tensor = std::holds_alternative<Value>(a[1]);
  return {emit(a, tensor ? "aten::div.Tensor_mode" : "aten::div.Scalar_mode", a.value(0), a[1],
               named("rounding_mode", "floor"))};
}

Values nan_to_num(const Args& a) {
  Value x = a.value(0);
  if (!x.is_floating()) return {x};
  const Value most = neg(lowest(x));
  const auto value = [&](size_t i, Value otherwise) {
    return a.has(i) ? number(a, a.number(i), x.dtype()) : otherwise;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const Value nan = emit(a, "aten::isnan", x), above = compare("aten::eq.Scalar", x, infinity);
  const Value below = compare("aten::eq.Scalar", x, -infinity);
  x = where(nan, value(1, number(a, 0.0, x.dtype())), x);
  return {where(above, value(2, most), where(below, value(3, lowest(x)), x))};
}

const OpRow kRows[] = {
    {"aten::ceil(Tensor self) -> Tensor", not_bool, eval::ceil, nullptr, kEach},
    {"aten::floor(Tensor self) -> Tensor", not_bool, eval::floor, nullptr, kEach},
    // Halves go to the even neighbour.
    {"aten::round(Tensor self) -> Tensor", not_bool, eval::round, nullptr, kEach},
    {"aten::trunc(Tensor self) -> Tensor", not_bool, eval::trunc, nullptr, kEach},
    {"aten::sign(Tensor self) -> Tensor", not_bool, eval::sign, nullptr, kEach},
    {"aten::isnan(Tensor self) -> Tensor", bool_as_self, eval::isnan, nullptr, kEach},
    {"aten::isinf(Tensor self) -> Tensor", bool_as_self, eval::isinf, nullptr, kEach},
    written(
        "aten::isfinite(Tensor self) -> Tensor",
        [](const Args& a) -> Values {
          const Value odd = emit(a, "aten::logical_or", emit(a, "aten::isnan", a.value(0)),
                                 emit(a, "aten::isinf", a.value(0)));
          return {emit(a, "aten::logical_not", odd)};
        },
        kEach),
    {"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", bits, eval::bitwise_and,
     nullptr, kEach | kCommutes},
    {"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", bits, eval::bitwise_or,
     nullptr, kEach | kCommutes},
    {"aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", bits, eval::bitwise_xor,
     nullptr, kEach | kCommutes},
    {"aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", bits_with_scalar,
     eval::bitwise_and, nullptr, kEach},
    {"aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", bits_with_scalar,
     eval::bitwise_or, nullptr, kEach},
    {"aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", bits_with_scalar,
     eval::bitwise_xor, nullptr, kEach},
    {"aten::bitwise_not(Tensor self) -> Tensor", bits, eval::bitwise_not, nullptr, kEach},
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", divided,
     eval::div_mode, nullptr, kEach},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", divided,
     eval::div_mode, nullptr, kEach},
    spelling("aten::floor_divide(Tensor self, Tensor other) -> Tensor", floor_divided),
    spelling("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", floor_divided),
    // The sign of remainder is the divisor's, of fmod the dividend's.
    {"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", binary, eval::remainder,
     nullptr, kEach},
    {"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", with_scalar, eval::remainder,
     nullptr, kEach},
    {"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", binary, eval::fmod, nullptr, kEach},
    {"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", with_scalar, eval::fmod, nullptr,
     kEach},
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamped, eval::clamp,
     nullptr, kEach},
    spelling("aten::clamp_min(Tensor self, Scalar min) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::clamp", a.value(0), a[1])}; }),
    spelling(
        "aten::clamp_max(Tensor self, Scalar max) -> Tensor",
        [](const Args& a) -> Values { return {emit(a, "aten::clamp", a.value(0), none(), a[1])}; }),
    spelling("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
             between<kMaximum, kMinimum>),
    spelling("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, kMaximum, a.value(0), a.value(1))}; }),
    spelling("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, kMinimum, a.value(0), a.value(1))}; }),
    written(
        "aten::logical_xor(Tensor self, Tensor other) -> Tensor",
        [](const Args& a) -> Values {
          return {compare("aten::ne.Tensor", to(a.value(0), DType::kBool),
                          to(a.value(1), DType::kBool))};
        },
        kEach | kCommutes),
    // Infinities become the largest numbers of the dtype unless others are given.
    written("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, "
            "float? neginf=None) -> Tensor",
            nan_to_num, kEach),
    {"aten::tan(Tensor self) -> Tensor", floating_as_self, eval::tan, nullptr, kEach},
    {"aten::atan(Tensor self) -> Tensor", floating_as_self, eval::atan, nullptr, kEach},
    {"aten::log1p(Tensor self) -> Tensor", floating_as_self, eval::log1p,
     [](const Args& a) -> Values { return {emit(a, "aten::log", a.value(0) + 1.0)}; }, kEach},
    {"aten::expm1(Tensor self) -> Tensor", floating_as_self, eval::expm1,
     [](const Args& a) -> Values { return {exp(a.value(0)) - 1.0}; }, kEach},
    written(
        "aten::log2(Tensor self) -> Tensor",
        [](const Args& a) -> Values {
          return {emit(a, "aten::log", a.value(0)) * 1.4426950408889634};
        },
        kEach),
    written(
        "aten::exp2(Tensor self) -> Tensor",
        [](const Args& a) -> Values { return {exp(a.value(0) * 0.6931471805599453)}; }, kEach),
    written(
        "aten::erfc(Tensor self) -> Tensor",
        [](const Args& a) -> Values {
          return {emit(a, "aten::rsub.Scalar", erf(a.value(0)), 1.0)};
        },
        kEach),
};

}  // namespace

std::span<const OpRow> rounding() { return kRows; }

}  // namespace slipway::ops

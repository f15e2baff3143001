// Values of rounding, division with rounding, bits, limits and tests of numbers.
#include <cmath>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

/// The quotient that the dtype has: floating types round once before the mode applies.
double quotient(double x, double y, bool floor) {
  return floor ? std::floor(x / y) : std::trunc(x / y);
}

/// The divisor's sign, as Python's %.
double modulo(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

template <class F>
std::vector<Array> integral(const EvalArgs& a, F f) {
  return combine_operands(a, [f](double x, double y) {
    return static_cast<double>(f(static_cast<int64_t>(x), static_cast<int64_t>(y)));
  });
}

void require_divisor(const EvalArgs& a) {
  if (is_floating(a.out_dtype())) return;
  const Array y = operand(a, 1, a.out_dtype());
  for (const double v : y.values) require(a, v != 0, "integers divided by anything but 0");
}

}  // namespace

std::vector<Array> ceil(const EvalArgs& a) {
  return each(a, [](double x) { return std::ceil(x); });
}
std::vector<Array> floor(const EvalArgs& a) {
  return each(a, [](double x) { return std::floor(x); });
}
std::vector<Array> round(const EvalArgs& a) {
  return each(a, [](double x) { return std::nearbyint(x); });
}
std::vector<Array> trunc(const EvalArgs& a) {
  return each(a, [](double x) { return std::trunc(x); });
}
std::vector<Array> sign(const EvalArgs& a) {
  return each(a, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
}
std::vector<Array> isnan(const EvalArgs& a) {
  return each(a, [](double x) { return std::isnan(x) ? 1.0 : 0.0; });
}
std::vector<Array> isinf(const EvalArgs& a) {
  return each(a, [](double x) { return std::isinf(x) ? 1.0 : 0.0; });
}
std::vector<Array> tan(const EvalArgs& a) {
  return each(a, [](double x) { return std::tan(x); });
}
std::vector<Array> atan(const EvalArgs& a) {
  return each(a, [](double x) { return std::atan(x); });
}
std::vector<Array> log1p(const EvalArgs& a) {
  return each(a, [](double x) { return std::log1p(x); });
}
std::vector<Array> expm1(const EvalArgs& a) {
  return each(a, [](double x) { return std::expm1(x); });
}

std::vector<Array> bitwise_and(const EvalArgs& a) {
  return integral(a, [](int64_t x, int64_t y) { return x & y; });
}
std::vector<Array> bitwise_or(const EvalArgs& a) {
  return integral(a, [](int64_t x, int64_t y) { return x | y; });
}
std::vector<Array> bitwise_xor(const EvalArgs& a) {
  return integral(a, [](int64_t x, int64_t y) { return x ^ y; });
}
std::vector<Array> bitwise_not(const EvalArgs& a) {
  if (a.out_dtype() == DType::kBool) return each(a, [](double x) { return x == 0 ? 1.0 : 0.0; });
  return each(a, [](double x) { return -x - 1; });
}

std::vector<Array> div_mode(const EvalArgs& a) {
  if (!a.has(2)) return div(a);
  require_divisor(a);
  const bool floor = a.args().text(2) == "floor";
  return combine_operands(a, [floor](double x, double y) { return quotient(x, y, floor); });
}
std::vector<Array> remainder(const EvalArgs& a) {
  require_divisor(a);
  return combine_operands(a, modulo);
}
std::vector<Array> fmod(const EvalArgs& a) {
  require_divisor(a);
  return combine_operands(a, [](double x, double y) { return std::fmod(x, y); });
}

std::vector<Array> clamp(const EvalArgs& a) {
  const auto bound = [&](size_t i, double otherwise) {
    return a.has(i) ? operand(a, i, a.out_dtype()).values[0] : otherwise;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = bound(1, -infinity), high = bound(2, infinity);
  return each(a, [=](double x) { return std::isnan(x) ? x : std::min(std::max(x, low), high); });
}

}  // namespace slipway::ops::eval

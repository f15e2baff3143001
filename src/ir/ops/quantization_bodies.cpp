// What the bodies of quantizing ops share.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/quantization.h"

namespace slipway::ops::quantized {
namespace {

/// The whole range of an integer dtype that values are quantized to.
std::pair<double, double> range_of(const Args& a, DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kU16:
      return {0, 65535};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      a.fail(fmt::format("quantizes to integers of 8, 16 or 32 bits, not {}", short_name(dtype)));
  }
}

}  // namespace

std::pair<double, double> range(const Args& a, size_t i, DType dtype) {
  std::pair<double, double> whole = range_of(a, dtype);
  const double low = a.has(i) ? a.number(i) : whole.first;
  const double high = a.has(i + 1) ? a.number(i + 1) : whole.second;
  if (low < whole.first || high > whole.second || low >= high)
    a.fail(fmt::format("the range {} to {} is not in {}", low, high, short_name(dtype)));
  return {low, high};
}

Value single(const Args& a, Value x) {
  if (!x.is_floating()) a.fail("needs a floating point tensor");
  return x.dtype() == DType::kF64 ? x : to(x, DType::kF32);
}

Value clamp(const Args& a, Value x, double low, double high) {
  return emit(a, "aten::clamp", x, low, high);
}
Value round(const Args& a, Value x) { return emit(a, "aten::round", x); }
Value at_least(const Args& a, Value x, double low) {
  return emit(a, "aten::clamp", x, low, none());
}

std::pair<Value, Value> extremes(const Args& a, Value x, const std::vector<int64_t>& axes,
                                 bool keepdim) {
  const std::vector<Sym> over(axes.begin(), axes.end());
  const Value zero = number(a, 0.0, x.dtype());
  const auto bound = [&](std::string_view reduce, std::string_view choose) {
    return emit(a, choose, emit(a, reduce, x, over, keepdim), zero);
  };
  return {bound("aten::amin", "aten::minimum"), bound("aten::amax", "aten::maximum")};
}

}  // namespace slipway::ops::quantized

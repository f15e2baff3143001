// Arithmetic of integer ranges.
#include "backends/executorch/int_range.h"

#include <algorithm>

namespace slipway::executorch {
namespace {

using Wide = __int128;

IntRange between(Wide low, Wide high) {
  const auto near = [](Wide v) {
    return static_cast<int64_t>(std::clamp<Wide>(v, -IntRange::kFar, IntRange::kFar));
  };
  return {near(low), near(high)};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// Over the corners of a and b.
template <class Op>
IntRange over_corners(IntRange a, IntRange b, Op op) {
  const Wide corners[] = {op(a.low, b.low), op(a.low, b.high), op(a.high, b.low),
                          op(a.high, b.high)};
  return between(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

}  // namespace

IntRange range_of(std::string_view kernel, IntRange a, IntRange b) {
  kernel.remove_prefix(std::min(kernel.size(), kernel.find("::") + 2));
  const std::string_view op = kernel.substr(0, kernel.find('.'));
  if (op == "add") return between(Wide{a.low} + b.low, Wide{a.high} + b.high);
  if (op == "sub") return between(Wide{a.low} - b.high, Wide{a.high} - b.low);
  if (op == "neg") return between(-Wide{a.high}, -Wide{a.low});
  if (op == "mul") return over_corners(a, b, [](Wide x, Wide y) { return x * y; });
  if (op == "sym_min") return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (op == "sym_max") return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (op == "sym_int") return a;
  if (op == "floordiv" && b.low > 0)
    return over_corners(a, b, [](int64_t x, int64_t y) { return floor_div(x, y); });
  if (op == "mod" && a.low >= 0 && b.low > 0) return {0, std::min(a.high, b.high - 1)};
  return {};
}

}  // namespace slipway::executorch

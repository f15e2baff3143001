// Values of padding, reversing and resizing.
#include <algorithm>
#include <cmath>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

/// One axis taken through a table of (source, weight) lists: -1 is a padded place.
struct Tap {
  int64_t at;
  double weight;
};
using Taps = std::vector<std::vector<Tap>>;

Array along(const Array& x, int64_t axis, const Taps& taps, double outside) {
  Array out{x.dtype, x.shape, {}};
  out.shape[static_cast<size_t>(axis)] = static_cast<int64_t>(taps.size());
  out.values.resize(static_cast<size_t>(numel(out.shape)));
  const Lanes from = lanes(x.shape, axis), to = lanes(out.shape, axis);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t i = 0; i < to.size; ++i)
      for (int64_t k = 0; k < to.inner; ++k) {
        double s = 0;
        for (const Tap& tap : taps[static_cast<size_t>(i)])
          s += tap.at < 0 ? outside : tap.weight * x.values[from.at(o, tap.at, k)];
        out.values[to.at(o, i, k)] = s;
      }
  return out;
}

double cubic(double t) {  // Keys 1981 with a = -0.75
  constexpr double a = -0.75;
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

enum class Kind { kNearest, kLinear, kCubic };

Taps resize_taps(Kind kind, int64_t from, int64_t to, bool corners, double factor) {
  Taps taps;
  const double step = factor > 0 ? 1 / factor : static_cast<double>(from) / static_cast<double>(to);
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at, 0, from - 1); };
  for (int64_t i = 0; i < to; ++i) {
    const auto place = static_cast<double>(i);
    if (kind == Kind::kNearest) {
      taps.push_back({{inside(static_cast<int64_t>(std::floor(place * step))), 1}});
      continue;
    }
    double at = (place + 0.5) * step - 0.5;
    if (corners)
      at = to > 1 ? place * static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
    if (kind == Kind::kLinear) at = std::max(at, 0.0);
    const auto base = static_cast<int64_t>(std::floor(at));
    const double rest = at - static_cast<double>(base);
    if (kind == Kind::kLinear) {
      taps.push_back({{inside(base), 1 - rest}, {inside(base + 1), rest}});
      continue;
    }
    taps.emplace_back();
    for (int64_t k = -1; k <= 2; ++k)
      taps.back().push_back({inside(base + k), cubic(static_cast<double>(k) - rest)});
  }
  return taps;
}

}  // namespace

std::vector<Array> pad(const EvalArgs& a) {
  Array x = a.array(0);
  const std::vector<int64_t> pads = a.integers(1);
  const std::string& mode = a.args().text(2);
  const double outside = a.has(3) ? a.number(3) : 0;
  for (size_t p = 0; p < pads.size() / 2; ++p) {
    const auto axis = static_cast<int64_t>(x.shape.size() - 1 - p);
    const int64_t size = x.shape[static_cast<size_t>(axis)];
    const int64_t before = pads[2 * p], after = pads[2 * p + 1];
    require(a, size + before + after >= 0, "to cut off no more than there is");
    require(a, mode != "reflect" || (before < size && after < size),
            "to reflect fewer elements than there are");
    Taps taps;
    for (int64_t i = -before; i < size + after; ++i) {
      int64_t at = i;
      if (mode == "replicate") at = std::clamp<int64_t>(i, 0, size - 1);
      else if (mode == "reflect") at = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
      else if (i >= size) at = -1;
      taps.push_back({{std::max<int64_t>(at, -1), 1}});
    }
    x = along(x, axis, taps, outside);
  }
  return {std::move(x)};
}

std::vector<Array> flip(const EvalArgs& a) {
  Array x = a.array(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  for (const int64_t given : a.integers(1)) {
    const int64_t axis = normalize_axis(given, rank);
    Taps taps;
    for (int64_t i = x.shape[static_cast<size_t>(axis)]; i-- > 0;) taps.push_back({{i, 1}});
    x = along(x, axis, taps, 0);
  }
  return {std::move(x)};
}

std::vector<Array> upsample(const EvalArgs& a) {
  Array x = a.array(0);
  const Schema& schema = a.node().op->schema;
  const Kind kind = schema.name.find("nearest") != std::string::npos   ? Kind::kNearest
                    : schema.name.find("bicubic") != std::string::npos ? Kind::kCubic
                                                                       : Kind::kLinear;
  const int corners = schema.find("align_corners");
  const auto factors = static_cast<size_t>(schema.find("scale_factors"));
  const auto* scales = std::get_if<std::vector<double>>(&a.args()[factors]);
  const Shape out = a.out_shape();
  for (size_t i = 2; i < out.size(); ++i)
    x = along(x, static_cast<int64_t>(i),
              resize_taps(kind, x.shape[i], out[i],
                          corners >= 0 && a.args().flag(static_cast<size_t>(corners)),
                          scales != nullptr ? (*scales)[i - 2] : 0),
              0);
  return {std::move(x)};
}

}  // namespace slipway::ops::eval

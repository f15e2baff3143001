// Values of sums, means, extrema, running sums and softmax.
#include <algorithm>
#include <cmath>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

/// Folds every element of x into the element of the result that its kept axes name.
template <class F>
Array fold(const EvalArgs& a, double start, F f) {
  const Array& x = a.array(0);
  const std::vector<int64_t> axes = a.args().axes(1, static_cast<int64_t>(x.shape.size()));
  Shape kept = x.shape;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  std::vector<int64_t> strides = strides_of(kept);
  for (const int64_t axis : axes) strides[static_cast<size_t>(axis)] = 0;
  Array out = result(a);
  require(a, numel(kept) == static_cast<int64_t>(out.values.size()), "the reduced element count");
  std::fill(out.values.begin(), out.values.end(), start);
  const std::vector<int64_t> to = offsets(x.shape, strides);
  for (size_t i = 0; i < to.size(); ++i) {
    double& slot = out.values[static_cast<size_t>(to[i])];
    slot = f(slot, x.values[i]);
  }
  return out;
}

Array extremum(const EvalArgs& a, double start, double (*choose)(double, double)) {
  require(a, !a.array(0).values.empty() || result(a).values.empty(),
          "at least one element to choose from");
  return fold(a, start, choose);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<Array> sum(const EvalArgs& a) {
  return {fold(a, 0, [](double s, double x) { return s + x; })};
}

std::vector<Array> mean(const EvalArgs& a) {
  Array out = sum(a)[0];
  const double count = static_cast<double>(a.array(0).values.size()) /
                       std::max(1.0, static_cast<double>(out.values.size()));
  for (double& v : out.values) v /= count;
  return {std::move(out)};
}

std::vector<Array> amax(const EvalArgs& a) {
  return {
      extremum(a, -kInfinity, [](double s, double x) { return std::isnan(s) || s > x ? s : x; })};
}

std::vector<Array> amin(const EvalArgs& a) {
  return {
      extremum(a, kInfinity, [](double s, double x) { return std::isnan(s) || s < x ? s : x; })};
}

std::vector<Array> cumsum(const EvalArgs& a) {
  const Array& x = a.array(0);
  if (x.shape.empty()) return {x};
  Array out = result(a);
  const Lanes l = lanes(x.shape, a.args().axis(1, static_cast<int64_t>(x.shape.size())));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.inner; ++k) {
      double s = 0;
      for (int64_t i = 0; i < l.size; ++i) out.values[l.at(o, i, k)] = s += x.values[l.at(o, i, k)];
    }
  return {std::move(out)};
}

std::vector<Array> softmax(const EvalArgs& a) {
  Array x = a.array(0);
  x.dtype = a.out_dtype();  // a wanted dtype is the one computed in
  x.round();
  const Lanes l = lanes(x.shape, a.args().axis(1, static_cast<int64_t>(x.shape.size())));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.inner; ++k) {
      double top = -kInfinity, total = 0;
      for (int64_t i = 0; i < l.size; ++i) top = std::max(top, x.values[l.at(o, i, k)]);
      for (int64_t i = 0; i < l.size; ++i) {
        double& v = x.values[l.at(o, i, k)];
        total += v = std::exp(v - top);
      }
      for (int64_t i = 0; i < l.size; ++i) x.values[l.at(o, i, k)] /= total;
    }
  return {std::move(x)};
}

std::vector<Array> log_softmax(const EvalArgs& a) {
  Array x = a.array(0);
  x.dtype = a.out_dtype();
  x.round();
  const Lanes l = lanes(x.shape, a.args().axis(1, static_cast<int64_t>(x.shape.size())));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.inner; ++k) {
      double top = -kInfinity, total = 0;
      for (int64_t i = 0; i < l.size; ++i) top = std::max(top, x.values[l.at(o, i, k)]);
      for (int64_t i = 0; i < l.size; ++i) total += std::exp(x.values[l.at(o, i, k)] - top);
      for (int64_t i = 0; i < l.size; ++i) x.values[l.at(o, i, k)] -= top + std::log(total);
    }
  return {std::move(x)};
}

std::vector<Array> prod(const EvalArgs& a) {
  const Array& x = a.array(0);
  Array out = result(a);
  const Lanes l = lanes(x.shape, a.args().axis(1, static_cast<int64_t>(x.shape.size())));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.inner; ++k) {
      double p = 1;
      for (int64_t i = 0; i < l.size; ++i) p *= x.values[l.at(o, i, k)];
      out.values[static_cast<size_t>(o * l.inner + k)] = p;
    }
  return {std::move(out)};
}

}  // namespace slipway::ops::eval

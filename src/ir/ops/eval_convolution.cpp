// Values of convolutions and poolings.
#include <cmath>

#include "ir/ops/eval_util.h"
#include "ir/ops/window.h"

namespace slipway::ops::eval {
namespace {

/// Counts through a grid of sizes.
template <class F>
void for_each(const Shape& sizes, F f) {
  Shape at(sizes.size(), 0);
  for (int64_t left = numel(sizes); left > 0; --left) {
    f(at);
    for (size_t i = sizes.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
}

int64_t offset_of(const Shape& at, const Shape& sizes) {
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) offset = offset * sizes[i] + at[i];
  return offset;
}

Shape last(const Shape& shape, size_t count) {
  return {shape.end() - static_cast<int64_t>(count), shape.end()};
}

/// Where tap k of the window at `out` lies in the input; false where that is padding.
bool tap(const Window& w, const Shape& out, const Shape& k, const Shape& sizes, Shape& in) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    in[i] = out[i] * w.stride[i] - w.padding[i] + k[i] * w.dilation[i];
    if (in[i] < 0 || in[i] >= sizes[i]) return false;
  }
  return true;
}

template <class F>
std::vector<Array> pooled(const EvalArgs& a, const Window& w, F reduce) {
  const Array& x = a.array(0);
  Array out = result(a);
  const Shape sizes = last(x.shape, w.axes()), to = last(out.shape, w.axes());
  const int64_t planes = numel(x.shape) / std::max<int64_t>(1, numel(sizes)), each = numel(to);
  Shape in(w.axes());
  for (int64_t p = 0; p < planes; ++p)
    for_each(to, [&](const Shape& at) {
      std::vector<double> seen;
      for_each(w.kernel, [&](const Shape& k) {
        if (tap(w, at, k, sizes, in))
          seen.push_back(x.values[static_cast<size_t>(p * numel(sizes) + offset_of(in, sizes))]);
      });
      out.values[static_cast<size_t>(p * each + offset_of(at, to))] = reduce(seen);
    });
  return {std::move(out)};
}

}  // namespace

std::vector<Array> convolution(const EvalArgs& a) {
  const Window w = convolution_window(a.args());
  const Array &x = a.array(0), &weight = a.array(1);
  Array out = result(a);
  const Shape sizes = last(x.shape, w.axes()), to = last(out.shape, w.axes());
  const bool batched = x.shape.size() == w.axes() + 2;
  const int64_t batch = batched ? x.shape[0] : 1;
  const int64_t inputs = x.shape[batched ? 1 : 0], outputs = out.shape[batched ? 1 : 0];
  const int64_t in_each = inputs / w.groups, out_each = outputs / w.groups;
  require(a, in_each * w.groups == inputs && out_each * w.groups == outputs, "whole groups");
  const int64_t area = numel(sizes), out_area = numel(to), taps = numel(Shape(w.kernel));
  Shape in(w.axes());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t group = o / out_each;
      double* plane = out.values.data() + (b * outputs + o) * out_area;
      const double start = a.has(2) ? a.array(2).values[static_cast<size_t>(o)] : 0;
      std::fill_n(plane, out_area, start);
      for (int64_t c = 0; c < in_each; ++c) {
        const int64_t channel = group * in_each + c;
        const double* from = x.values.data() + (b * inputs + channel) * area;
        const double* kernel =
            weight.values.data() +
            (w.transposed ? channel * out_each + o % out_each : o * in_each + c) * taps;
        // A transposed convolution writes where the other one reads.
        for_each(w.transposed ? sizes : to, [&](const Shape& at) {
          for_each(w.kernel, [&](const Shape& k) {
            if (!tap(w, at, k, w.transposed ? to : sizes, in)) return;
            const double factor = kernel[offset_of(k, w.kernel)];
            if (w.transposed) plane[offset_of(in, to)] += factor * from[offset_of(at, sizes)];
            else plane[offset_of(at, to)] += factor * from[offset_of(in, sizes)];
          });
        });
      }
    }
  return {std::move(out)};
}

std::vector<Array> max_pool(const EvalArgs& a) {
  return pooled(a, pooling_window(a.args()), [](const std::vector<double>& seen) {
    double top = -std::numeric_limits<double>::infinity();
    for (const double v : seen) top = std::isnan(top) || top > v ? top : v;
    return top;
  });
}

std::vector<Array> avg_pool(const EvalArgs& a) {
  const Window w = pooling_window(a.args());
  const bool all = a.args().flag(5);
  double divisor = all ? static_cast<double>(numel(Shape(w.kernel))) : 0;
  if (a.args().size() > 6 && a.has(6)) divisor = static_cast<double>(a.integer(6));
  return pooled(a, w, [=](const std::vector<double>& seen) {
    double s = 0;
    for (const double v : seen) s += v;
    return s / (divisor != 0 ? divisor : static_cast<double>(seen.size()));
  });
}

}  // namespace slipway::ops::eval

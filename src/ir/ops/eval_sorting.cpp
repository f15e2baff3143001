// Values of orders and of the places of extrema.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

/// NaN is larger than every number.
bool above(double x, double y) { return std::isnan(x) ? !std::isnan(y) : x > y; }

/// The first `kept` of every lane in order, with their places; equal elements keep theirs.
std::vector<Array> ordered(const EvalArgs& a, int64_t axis, bool descending) {
  const Array& x = a.array(0);
  Array values{a.out_dtype(0), a.out_shape(0), {}}, places{DType::kI64, a.out_shape(0), {}};
  const Lanes from = lanes(x.shape, axis), to = lanes(values.shape, axis);
  require(a, to.size <= from.size, "no more elements than the axis has");
  values.values.resize(static_cast<size_t>(numel(values.shape)));
  places.values.resize(values.values.size());
  std::vector<int64_t> order(static_cast<size_t>(from.size));
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t k = 0; k < from.inner; ++k) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
        const double u = x.values[from.at(o, p, k)], v = x.values[from.at(o, q, k)];
        return descending ? above(u, v) : above(v, u);
      });
      for (int64_t i = 0; i < to.size; ++i) {
        const int64_t at = order[static_cast<size_t>(i)];
        values.values[to.at(o, i, k)] = x.values[from.at(o, at, k)];
        places.values[to.at(o, i, k)] = static_cast<double>(at);
      }
    }
  return {std::move(values), std::move(places)};
}

std::vector<Array> place(const EvalArgs& a, bool largest) {
  const Array& x = a.array(0);
  Array out = result(a);
  const Lanes l = a.has(1) ? lanes(x.shape, a.args().axis(1, static_cast<int64_t>(x.shape.size())))
                           : Lanes{1, numel(x.shape), 1};
  require(a, l.size > 0, "at least one element to choose from");
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.inner; ++k) {
      int64_t best = 0;
      for (int64_t i = 1; i < l.size; ++i) {
        const double u = x.values[l.at(o, i, k)], v = x.values[l.at(o, best, k)];
        if (largest ? above(u, v) : std::isnan(u) ? !std::isnan(v) : u < v) best = i;
      }
      out.values[static_cast<size_t>(o * l.inner + k)] = static_cast<double>(best);
    }
  return {std::move(out)};
}

}  // namespace

std::vector<Array> topk(const EvalArgs& a) {
  const auto rank = static_cast<int64_t>(a.array(0).shape.size());
  return ordered(a, a.args().axis(2, rank), a.args().flag(3));
}

std::vector<Array> sort(const EvalArgs& a) {
  const auto rank = static_cast<int64_t>(a.array(0).shape.size());
  return ordered(a, a.args().axis(1, rank), a.args().flag(2));
}

std::vector<Array> argmax(const EvalArgs& a) { return place(a, true); }
std::vector<Array> argmin(const EvalArgs& a) { return place(a, false); }

}  // namespace slipway::ops::eval

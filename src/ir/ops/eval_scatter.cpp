// Values of lookups and writes by several indices, and of scattered elements.
#include <cmath>
#include <limits>
#include <optional>

#include "ir/ops/eval_util.h"
#include "ir/ops/index_plan.h"

namespace slipway::ops::eval {
namespace {

int64_t checked(const EvalArgs& a, double index, int64_t size) {
  const auto given = static_cast<int64_t>(index), at = given < 0 ? given + size : given;
  require(a, at >= 0 && at < size,
          "indices below " + std::to_string(size) + ", got " + std::to_string(given));
  return at;
}

/// For each element of the indexing's result, the offset in self that it reads or writes.
std::vector<int64_t> targets(const EvalArgs& a, Shape* shape) {
  const IndexPlan plan = index_plan(a.args());
  const Array& x = a.array(0);
  const std::vector<int64_t> own = strides_of(x.shape);
  std::vector<const Array*> indices;
  for (const Array* index : a.arrays(1))
    if (index != nullptr) indices.push_back(index);
  Shape picked;
  for (const Array* index : indices) {
    while (picked.size() < index->shape.size()) picked.insert(picked.begin(), 1);
    const size_t lead = picked.size() - index->shape.size();
    for (size_t i = 0; i < index->shape.size(); ++i)
      if (index->shape[i] != 1) picked[lead + i] = index->shape[i];
  }
  std::vector<int64_t> base(static_cast<size_t>(numel(picked)), 0);
  for (size_t n = 0; n < indices.size(); ++n) {
    const auto axis = static_cast<size_t>(plan.axes[n]);
    const auto from = broadcast_offsets(a, indices[n]->shape, picked);
    for (size_t i = 0; i < base.size(); ++i)
      base[i] +=
          own[axis] * checked(a, indices[n]->values[static_cast<size_t>(from[i])], x.shape[axis]);
  }
  // The result's axes: some of the others, the picked ones, the rest of the others.
  std::vector<int64_t> strides, picks;
  for (const int64_t axis : plan.others) {
    shape->push_back(x.shape[static_cast<size_t>(axis)]);
    strides.push_back(own[static_cast<size_t>(axis)]);
    picks.push_back(0);
  }
  const std::vector<int64_t> inner = strides_of(picked);
  shape->insert(shape->begin() + plan.place, picked.begin(), picked.end());
  strides.insert(strides.begin() + plan.place, picked.size(), 0);
  picks.insert(picks.begin() + plan.place, inner.begin(), inner.end());
  std::vector<int64_t> to = offsets(*shape, strides);
  const std::vector<int64_t> pick = offsets(*shape, picks);
  for (size_t i = 0; i < to.size(); ++i) to[i] += base[static_cast<size_t>(pick[i])];
  return to;
}

/// f of the element that is there and the one that is written. With `start` elements that are
/// written to begin at that instead.
template <class F>
std::vector<Array> scattered(const EvalArgs& a, F f, std::optional<double> start = {}) {
  Array out = a.array(0);
  const Array& index = a.array(2);
  const auto axis = static_cast<size_t>(a.args().axis(1, static_cast<int64_t>(out.shape.size())));
  const bool tensor = std::holds_alternative<Value>(a.args()[3]);
  const Array source = tensor ? a.array(3) : operand(a, 3, out.dtype);
  std::vector<int64_t> strides = strides_of(out.shape);
  const int64_t along = strides[axis];
  strides[axis] = 0;
  for (size_t i = 0; i < index.shape.size(); ++i) {
    require(a, i == axis || index.shape[i] <= out.shape[i], "an index no larger than self");
    require(a, !tensor || index.shape[i] <= source.shape[i], "an index no larger than src");
  }
  const std::vector<int64_t> to = offsets(index.shape, strides);
  std::vector<int64_t> from(to.size(), 0);
  if (tensor) from = offsets(index.shape, strides_of(source.shape));
  const auto slot = [&](size_t i) -> double& {
    const int64_t at = to[i] + along * checked(a, index.values[i], out.shape[axis]);
    return out.values[static_cast<size_t>(at)];
  };
  for (size_t i = 0; start && i < to.size(); ++i) slot(i) = *start;
  for (size_t i = 0; i < to.size(); ++i)
    slot(i) = f(slot(i), source.values[static_cast<size_t>(from[i])]);
  return {std::move(out)};
}

}  // namespace

std::vector<Array> index(const EvalArgs& a) {
  Array out{a.out_dtype(), {}, {}};
  for (const int64_t at : targets(a, &out.shape))
    out.values.push_back(a.array(0).values[static_cast<size_t>(at)]);
  return {std::move(out)};
}

std::vector<Array> index_put(const EvalArgs& a) {
  Array out = a.array(0);
  Shape shape;
  const std::vector<int64_t> to = targets(a, &shape);
  const std::vector<int64_t> from = broadcast_offsets(a, a.array(2).shape, shape);
  const bool add = a.args().flag(3);
  for (size_t i = 0; i < to.size(); ++i) {
    double& slot = out.values[static_cast<size_t>(to[i])];
    const double v = a.array(2).values[static_cast<size_t>(from[i])];
    slot = add ? slot + v : v;
  }
  return {std::move(out)};
}

std::vector<Array> scatter(const EvalArgs& a) {
  return scattered(a, [](double, double v) { return v; });
}
std::vector<Array> scatter_add(const EvalArgs& a) {
  return scattered(a, [](double old, double v) { return old + v; });
}
std::vector<Array> scatter_reduce(const EvalArgs& a) {
  const std::string& how = a.args().text(4);
  const auto reduced = [&](double neutral, double (*f)(double, double)) {
    return scattered(a, f, a.args().flag(5) ? std::optional<double>() : neutral);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (how == "sum") return reduced(0, [](double old, double v) { return old + v; });
  if (how == "prod") return reduced(1, [](double old, double v) { return old * v; });
  if (how == "amax")
    return reduced(-kInfinity,
                   [](double old, double v) { return std::isnan(old) || old > v ? old : v; });
  return reduced(kInfinity,
                 [](double old, double v) { return std::isnan(old) || old < v ? old : v; });
}

}  // namespace slipway::ops::eval

// Values of views, joins, slices, lookups and fills.
#include <algorithm>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

int64_t rank_of(const Array& x) { return static_cast<int64_t>(x.shape.size()); }

/// The elements of x at `from`, in order, as output 0.
std::vector<Array> taken(const EvalArgs& a, const Array& x, Shape shape,
                         const std::vector<int64_t>& from, int64_t base = 0) {
  Array out{a.out_dtype(), std::move(shape), std::vector<double>(from.size())};
  for (size_t i = 0; i < from.size(); ++i)
    out.values[i] = x.values[static_cast<size_t>(base + from[i])];
  return {std::move(out)};
}

std::vector<Array> permuted(const EvalArgs& a, const std::vector<int64_t>& axes) {
  const Array& x = a.array(0);
  const std::vector<int64_t> own = strides_of(x.shape);
  Shape shape;
  std::vector<int64_t> strides;
  for (const int64_t axis : axes) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  return taken(a, x, shape, offsets(shape, strides));
}

int64_t checked_index(const EvalArgs& a, double index, int64_t size) {
  const auto at = static_cast<int64_t>(index);
  require(a, at >= 0 && at < size,
          "indices below " + std::to_string(size) + ", got " + std::to_string(at));
  return at;
}

}  // namespace

std::vector<Array> relabel(const EvalArgs& a) {
  Array out = a.array(0);
  out.shape = a.out_shape();
  require(
      a, numel(out.shape) == static_cast<int64_t>(out.values.size()),
      shape_string(a.array(0).shape) + " to have as many elements as " + shape_string(out.shape));
  return {std::move(out)};
}

std::vector<Array> view(const EvalArgs& a) { return relabel(a); }

std::vector<Array> permute(const EvalArgs& a) {
  std::vector<int64_t> axes;
  for (const int64_t axis : a.integers(1))
    axes.push_back(normalize_axis(axis, rank_of(a.array(0))));
  return permuted(a, axes);
}

std::vector<Array> transpose(const EvalArgs& a) {
  const int64_t rank = rank_of(a.array(0));
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(a.args().axis(1, rank))],
            axes[static_cast<size_t>(a.args().axis(2, rank))]);
  return permuted(a, axes);
}

std::vector<Array> matrix_transpose(const EvalArgs& a) {
  std::vector<int64_t> axes;
  for (int64_t i = rank_of(a.array(0)); i-- > 0;) axes.push_back(i);
  return permuted(a, axes);
}

std::vector<Array> expand(const EvalArgs& a) {
  const Shape shape = a.out_shape();
  return taken(a, a.array(0), shape, broadcast_offsets(a, a.array(0).shape, shape));
}

std::vector<Array> cat(const EvalArgs& a) {
  const std::vector<const Array*> parts = a.arrays(0);
  Array out = result(a);
  const int64_t axis = a.args().axis(1, rank_of(out));
  const Lanes all = lanes(out.shape, axis);
  int64_t begin = 0;
  for (const Array* part : parts) {
    if (part->shape == Shape{0} && out.shape.size() != 1) continue;
    const Lanes l = lanes(part->shape, axis);
    require(a, l.outer == all.outer && l.inner == all.inner && begin + l.size <= all.size,
            "tensors that differ along one axis only");
    for (int64_t o = 0; o < l.outer; ++o)
      std::copy_n(part->values.begin() + o * l.size * l.inner, l.size * l.inner,
                  out.values.begin() + (o * all.size + begin) * all.inner);
    begin += l.size;
  }
  require(a, begin == all.size, "sizes that add up to the result's");
  return {std::move(out)};
}

std::vector<Array> slice(const EvalArgs& a) {
  const Array& x = a.array(0);
  const int64_t axis = a.args().axis(1, rank_of(x)), step = a.integer(4);
  const auto at = static_cast<size_t>(axis);
  const int64_t size = x.shape[at];
  const auto bound = [&](size_t i, int64_t otherwise) {
    const int64_t v = a.has(i) ? a.integer(i) : otherwise;
    return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size);
  };
  const int64_t start = bound(2, 0), end = std::max(bound(3, size), start);
  Shape shape = x.shape;
  shape[at] = (end - start + step - 1) / step;
  std::vector<int64_t> strides = strides_of(x.shape);
  const int64_t base = start * strides[at];
  strides[at] *= step;
  return taken(a, x, shape, offsets(shape, strides), base);
}

std::vector<Array> select(const EvalArgs& a) {
  const Array& x = a.array(0);
  const int64_t axis = a.args().axis(1, rank_of(x));
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  const int64_t wanted = a.integer(2), index = wanted < 0 ? wanted + size : wanted;
  require(a, index >= 0 && index < size, "an index inside the axis");
  Shape shape = x.shape;
  std::vector<int64_t> strides = strides_of(x.shape);
  const int64_t base = index * strides[static_cast<size_t>(axis)];
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  return taken(a, x, shape, offsets(shape, strides), base);
}

std::vector<Array> full(const EvalArgs& a) {
  Array out = result(a);
  std::fill(out.values.begin(), out.values.end(), a.number(1));
  return {std::move(out)};
}

std::vector<Array> arange(const EvalArgs& a) {
  Array out = result(a);
  const double start = a.number(0), step = a.number(2);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = start + static_cast<double>(i) * step;
  return {std::move(out)};
}

std::vector<Array> embedding(const EvalArgs& a) {
  const Array &table = a.array(0), &indices = a.array(1);
  Array out = result(a);
  const int64_t width = table.shape[1];
  auto to = out.values.begin();
  for (const double index : indices.values) {
    const int64_t row = checked_index(a, index, table.shape[0]);
    to = std::copy_n(table.values.begin() + row * width, width, to);
  }
  return {std::move(out)};
}

std::vector<Array> index_select(const EvalArgs& a) {
  const Array &x = a.array(0), &index = a.array(2);
  Array out = result(a);
  const int64_t axis = a.args().axis(1, rank_of(x));
  const Lanes from = lanes(x.shape, axis), to = lanes(out.shape, axis);
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t i = 0; i < to.size; ++i) {
      const int64_t row = checked_index(a, index.values[static_cast<size_t>(i)], from.size);
      for (int64_t k = 0; k < to.inner; ++k)
        out.values[to.at(o, i, k)] = x.values[from.at(o, row, k)];
    }
  return {std::move(out)};
}

std::vector<Array> index_copy(const EvalArgs& a) {
  Array out = a.array(0);
  const Array &index = a.array(2), &source = a.array(3);
  const int64_t axis = a.args().axis(1, rank_of(out));
  const Lanes from = lanes(source.shape, axis), to = lanes(out.shape, axis);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = 0; i < from.size; ++i) {
      const int64_t row = checked_index(a, index.values[static_cast<size_t>(i)], to.size);
      for (int64_t k = 0; k < to.inner; ++k)
        out.values[to.at(o, row, k)] = source.values[from.at(o, i, k)];
    }
  return {std::move(out)};
}

std::vector<Array> keep_last(const EvalArgs& a) {
  const Array& x = a.array(0);
  const int64_t size = x.shape[1], count = static_cast<int64_t>(a.array(1).values.at(0));
  const int64_t kept = count <= 0 || count > size ? size : count;
  Array out{x.dtype, {x.shape[0], kept, x.shape[2]}, {}};
  const Lanes from = lanes(x.shape, 1);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = size - kept; i < size; ++i)
      for (int64_t k = 0; k < from.inner; ++k) out.values.push_back(x.values[from.at(o, i, k)]);
  return {std::move(out)};
}

std::vector<Array> gather(const EvalArgs& a) {
  const Array &x = a.array(0), &index = a.array(2);
  const int64_t axis = a.args().axis(1, rank_of(x));
  const auto along = static_cast<size_t>(axis);
  std::vector<int64_t> strides = strides_of(x.shape);
  const int64_t stride = strides[along];
  for (size_t i = 0; i < x.shape.size(); ++i)
    require(a, i == along || index.shape[i] <= x.shape[i], "an index no larger than self");
  strides[along] = 0;
  std::vector<int64_t> from = offsets(index.shape, strides);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] += stride * checked_index(a, index.values[i], x.shape[along]);
  return taken(a, x, index.shape, from);
}

}  // namespace slipway::ops::eval

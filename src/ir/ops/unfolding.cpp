// Sliding windows as elements of their own: along one axis, and over images there and back.
#include <array>

#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// [count, size]: window i starts at i * step, its elements are `apart` from each other.
Value window_places(const Args& a, Sym count, int64_t size, int64_t step, int64_t apart) {
  Value starts = arange(a.graph(), 0, count), inside = arange(a.graph(), 0, size);
  if (step != 1) starts = emit(a, "aten::mul.Scalar", starts, Sym(step));
  if (apart != 1) inside = emit(a, "aten::mul.Scalar", inside, Sym(apart));
  return unsqueeze(starts, 1) + inside;
}

/// [..., length, ...] -> [..., windows, ..., size]
Values unfold(const Args& a) {
  const Value x = a.value(0);
  if (x.rank() == 0) a.fail("needs a tensor with dimensions");
  const int64_t axis = a.axis(1, x.rank()), size = a.integer(2), step = a.integer(3);
  const Sym length = x.dim(axis);
  if (size < 0 || step < 1) a.fail("needs a size of at least 0 and a step of at least 1");
  if (known_le(length + 1, size)) a.fail("the windows are larger than " + length.str());
  const Sym count = floordiv(length - size, step) + 1;
  SymShape apart = x.shape();
  apart[static_cast<size_t>(axis)] = count;
  apart.insert(apart.begin() + axis + 1, size);
  Value windows;
  if (size == step) {
    const Sym used = count * size;
    windows = view(used == length ? x : slice(x, axis, 0, used), apart);
  } else {
    const Value at = view(window_places(a, count, size, step, 1), {count * size});
    windows = view(emit(a, "aten::index_select", x, Sym(axis), at), apart);
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i <= x.rank(); ++i)
    if (i != axis + 1) axes.push_back(i);
  axes.push_back(axis + 1);
  return {permute(windows, axes)};
}

/// Windows over the last two axes; arguments from `first` on are kernel_size, dilation, padding and
/// stride.
struct Grid {
  Grid(const Args& a, size_t first, Sym height, Sym width) {
    std::array<std::vector<int64_t>, 4> given;
    for (size_t i = 0; i < 4; ++i) {
      given[i] = a.integers(first + i);
      if (given[i].size() != 2) a.fail("needs two numbers for each setting of the windows");
    }
    kernel = given[0], dilation = given[1], padding = given[2], stride = given[3];
    const Sym sizes[] = {height, width};
    for (size_t i = 0; i < 2; ++i) {
      if (kernel[i] < 1 || dilation[i] < 1 || padding[i] < 0 || stride[i] < 1)
        a.fail("needs a kernel, dilation and stride of at least 1, and no negative padding");
      const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      padded.push_back(sizes[i] + 2 * padding[i]);
      if (known_le(padded[i] + 1, reach)) a.fail("the windows are larger than the image");
      counts.push_back(floordiv(padded[i] - reach, stride[i]) + 1);
    }
  }

  /// [kernel, count] along axis 0 or 1.
  Value places(const Args& a, size_t i) const {
    return transpose(window_places(a, counts[i], kernel[i], stride[i], dilation[i]), 0, 1);
  }

  std::vector<int64_t> kernel, dilation, padding, stride;
  std::vector<Sym> padded, counts;
};

/// [channels kernel_area, windows] with or without a batch, from or to [channels, height, width].
Values with_batch(const Args& a, int64_t rank, Value (*f)(const Args&, Value)) {
  if (a.value(0).rank() == rank) return {squeeze(f(a, unsqueeze(a.value(0), 0)), 0)};
  if (a.value(0).rank() != rank + 1) a.fail("got another rank, need one batch axis or none");
  return {f(a, a.value(0))};
}

Value im2col(const Args& a, Value x) {
  const Grid grid(a, 1, x.dim(2), x.dim(3));
  const int64_t v = grid.padding[0], h = grid.padding[1];
  if (v != 0 || h != 0) x = emit(a, "aten::pad", x, std::vector<Sym>{h, h, v, v});
  for (size_t i = 0; i < 2; ++i) {
    const Value at = view(grid.places(a, i), {grid.counts[i] * grid.kernel[i]});
    x = emit(a, "aten::index_select", x, Sym(static_cast<int64_t>(i) + 2), at);
  }
  const Sym batch = x.dim(0), channels = x.dim(1), kh = grid.kernel[0], kw = grid.kernel[1];
  const Value apart = view(x, {batch, channels, kh, grid.counts[0], kw, grid.counts[1]});
  return view(permute(apart, {0, 1, 2, 4, 3, 5}),
              {batch, channels * kh * kw, grid.counts[0] * grid.counts[1]});
}

/// Elements that several windows have are added up.
Value col2im(const Args& a, Value x) {
  if (a.syms(1).size() != 2) a.fail("needs an output_size of two numbers");
  const Sym height = a.syms(1)[0], width = a.syms(1)[1];
  const Grid grid(a, 2, height, width);
  const int64_t area = grid.kernel[0] * grid.kernel[1];
  const Sym batch = x.dim(0), channels = floordiv(x.dim(1), area);
  if (known_ne(channels * area, x.dim(1))) a.fail("the channels do not divide by the kernel");
  require_equal(a, x.dim(2), grid.counts[0] * grid.counts[1], "the number of windows");
  const Value apart =
      view(x, {batch, channels, grid.kernel[0], grid.kernel[1], grid.counts[0], grid.counts[1]});
  const Value rows = view(grid.places(a, 0), {grid.kernel[0], 1, grid.counts[0], 1});
  const Value columns = view(grid.places(a, 1), {1, grid.kernel[1], 1, grid.counts[1]});
  const Value empty =
      full(a.graph(), {batch, channels, grid.padded[0], grid.padded[1]}, 0, x.dtype());
  Value image =
      emit(a, "aten::index_put", empty, std::vector<Value>{{}, {}, rows, columns}, apart, true);
  const int64_t v = grid.padding[0], h = grid.padding[1];
  if (v != 0) image = slice(image, 2, v, height + v);
  return h == 0 ? image : slice(image, 3, h, width + h);
}

const OpRow kRows[] = {
    written("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold),
    written("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
            "int[2] stride) -> Tensor",
            [](const Args& a) { return with_batch(a, 3, im2col); }),
    written("aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, "
            "int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
            [](const Args& a) { return with_batch(a, 2, col2im); }),
};

}  // namespace

std::span<const OpRow> unfolding() { return kRows; }

}  // namespace slipway::ops

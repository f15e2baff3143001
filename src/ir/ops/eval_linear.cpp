// Values of matrix products and normalizations.
#include <cmath>

#include "ir/ops/eval_util.h"

namespace slipway::ops::eval {
namespace {

/// Sums over the last axes, one lane after another: f(lane of x, its first element's index).
template <class F>
std::vector<Array> per_lane(const EvalArgs& a, F f) {
  Array out = a.array(0);
  int64_t width = 1;
  for (const int64_t size : a.integers(1)) width *= size;
  require(a, width > 0 && static_cast<int64_t>(out.values.size()) % width == 0,
          "normalized_shape to fit the input");
  for (size_t at = 0; at < out.values.size(); at += static_cast<size_t>(width))
    f(std::span<double>(out.values).subspan(at, static_cast<size_t>(width)));
  return {std::move(out)};
}

const double* weight(const EvalArgs& a, size_t i, size_t width) {
  if (!a.has(i)) return nullptr;
  require(a, a.array(i).values.size() == width, "a weight of the normalized size");
  return a.array(i).values.data();
}

/// PyTorch takes the epsilon of the dtype it computes in.
double default_epsilon(DType dtype) { return dtype == DType::kF64 ? 0x1p-52 : 0x1p-23; }

}  // namespace

std::vector<Array> matmul(const EvalArgs& a) {
  Array x = a.array(0), y = a.array(1), out = result(a);
  if (x.shape.size() == 1) x.shape.insert(x.shape.begin(), 1);
  if (y.shape.size() == 1) y.shape.push_back(1);
  const int64_t rows = x.shape[x.shape.size() - 2], inner = x.shape.back();
  const int64_t columns = y.shape.back();
  require(a, y.shape[y.shape.size() - 2] == inner,
          "equal inner sizes, got " + shape_string(x.shape) + " and " + shape_string(y.shape));
  const auto batch_of = [](const Shape& s) { return Shape(s.begin(), s.end() - 2); };
  Shape batch = out.shape;
  if (a.array(0).shape.size() > 1) batch.pop_back();
  if (a.array(1).shape.size() > 1) batch.pop_back();
  const auto at_x = broadcast_offsets(a, batch_of(x.shape), batch);
  const auto at_y = broadcast_offsets(a, batch_of(y.shape), batch);
  double* to = out.values.data();
  for (size_t b = 0; b < at_x.size(); ++b) {
    const double* left = x.values.data() + at_x[b] * rows * inner;
    const double* right = y.values.data() + at_y[b] * inner * columns;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        double s = 0;
        for (int64_t i = 0; i < inner; ++i) s += left[r * inner + i] * right[i * columns + c];
        *to++ = s;
      }
  }
  return {std::move(out)};
}

std::vector<Array> linear(const EvalArgs& a) {
  const Array &x = a.array(0), &w = a.array(1);
  Array out = result(a);
  const auto inner = static_cast<size_t>(w.shape[1]), columns = static_cast<size_t>(w.shape[0]);
  require(a, x.shape.back() == w.shape[1], "the input's last size to be the weight's");
  const double* bias = weight(a, 2, columns);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const size_t row = i / columns, column = i % columns;
    double s = bias != nullptr ? bias[column] : 0;
    for (size_t k = 0; k < inner; ++k)
      s += x.values[row * inner + k] * w.values[column * inner + k];
    out.values[i] = s;
  }
  return {std::move(out)};
}

std::vector<Array> grouped_mm(const EvalArgs& a) {
  const Array &x = a.array(0), &w = a.array(1), &ends = a.array(2);
  Array out = result(a);
  const int64_t rows = x.shape[0], inner = x.shape[1], columns = w.shape[2];
  int64_t row = 0;
  for (size_t g = 0; g < ends.values.size(); ++g) {
    const auto end = static_cast<int64_t>(ends.values[g]);
    require(a, end >= row && end <= rows, "offsets that rise, at most the number of rows");
    const double* weight_of = w.values.data() + static_cast<int64_t>(g) * inner * columns;
    for (; row < end; ++row)
      for (int64_t c = 0; c < columns; ++c) {
        double s = 0;
        for (int64_t i = 0; i < inner; ++i)
          s += x.values[static_cast<size_t>(row * inner + i)] * weight_of[i * columns + c];
        out.values[static_cast<size_t>(row * columns + c)] = s;
      }
  }
  return {std::move(out)};
}

std::vector<Array> layer_norm(const EvalArgs& a) {
  return per_lane(a, [&](std::span<double> lane) {
    const double *scale = weight(a, 2, lane.size()), *shift = weight(a, 3, lane.size());
    const auto count = static_cast<double>(lane.size());
    double mean = 0, variance = 0;
    for (const double v : lane) mean += v / count;
    for (const double v : lane) variance += (v - mean) * (v - mean) / count;
    for (size_t i = 0; i < lane.size(); ++i) {
      lane[i] = (lane[i] - mean) / std::sqrt(variance + a.number(4));
      if (scale != nullptr) lane[i] *= scale[i];
      if (shift != nullptr) lane[i] += shift[i];
    }
  });
}

std::vector<Array> rms_norm(const EvalArgs& a) {
  const double eps = a.has(3) ? a.number(3) : default_epsilon(a.array(0).dtype);
  return per_lane(a, [&](std::span<double> lane) {
    const double* scale = weight(a, 2, lane.size());
    double square = 0;
    for (const double v : lane) square += v * v / static_cast<double>(lane.size());
    for (size_t i = 0; i < lane.size(); ++i) {
      lane[i] /= std::sqrt(square + eps);
      if (scale != nullptr) lane[i] *= scale[i];
    }
  });
}

}  // namespace slipway::ops::eval

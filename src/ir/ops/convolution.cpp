// Convolutions and poolings.
#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/window.h"

namespace slipway::ops {
namespace {

std::vector<ValueType> convolution(const Args& a) {
  const Window w = convolution_window(a);
  const SymShape &input = a.type(0).shape, &weight = a.type(1).shape;
  if (a.type(1).dtype != a.type(0).dtype) a.fail("input and weight differ in dtype");
  const bool batched = input.size() == w.axes() + 2;
  if (!batched && input.size() != w.axes() + 1)
    a.fail("the input " + shape_string(input) + " does not fit the weight " + shape_string(weight));
  const Sym channels = input[batched ? 1 : 0];
  const Sym in = w.transposed ? weight[0] : weight[1] * w.groups;
  const Sym out = w.transposed ? weight[1] * w.groups : weight[0];
  require_equal(a, channels, in, "the input's channels");
  if (a.has(2)) require_equal(a, a.type(2).shape.at(0), out, "the bias's size");
  SymShape shape;
  if (batched) shape.push_back(input[0]);
  shape.push_back(out);
  return {{a.type(0).dtype, windowed(w, input, std::move(shape))}};
}

std::vector<ValueType> pooled(const Args& a) {
  const Window w = pooling_window(a);
  const SymShape& input = a.type(0).shape;
  if (input.size() != w.axes() + 2 && input.size() != w.axes() + 1)
    a.fail("needs [batch, channels, size...] or [channels, size...]");
  const auto lead = static_cast<int64_t>(input.size() - w.axes());
  return {{a.type(0).dtype, windowed(w, input, {input.begin(), input.begin() + lead})}};
}

/// The mean over cells that cut an axis into `parts` as evenly as they can: first element
/// floor(i n / parts), last ceil((i + 1) n / parts) - 1.
Value averaged(const Args& a, Value x, int64_t axis, Sym parts) {
  const Sym size = x.dim(axis);
  if (parts == size) return x;
  const auto mean_over = [&](Value part) {
    return emit(a, "aten::mean.dim", part, std::vector<Sym>{axis}, true);
  };
  if (parts.is_const(1)) return mean_over(x);
  if (!parts.is_const() || !size.is_const()) a.fail("needs sizes that are numbers, or one cell");
  const int64_t n = size.value(), count = parts.value();
  if (count < 1) a.fail("needs at least one cell");
  std::vector<Value> cells;
  for (int64_t i = 0; i < count; ++i)
    cells.push_back(mean_over(slice(x, axis, i * n / count, ((i + 1) * n + count - 1) / count)));
  return cat(cells, axis);
}

Values adaptive(const Args& a) {
  Value x = a.value(0);
  const std::vector<Sym>& sizes = a.syms(1);
  const size_t axes = a.op().name().ends_with("1d") ? 1 : 2;
  if (static_cast<size_t>(x.rank()) < axes + 1) a.fail("needs channels and spatial axes");
  if (sizes.size() != axes && sizes.size() != 1) a.fail("needs a size for every axis");
  for (size_t i = 0; i < axes; ++i) {
    const int64_t axis = x.rank() - static_cast<int64_t>(axes - i);
    x = averaged(a, x, axis, sizes.size() == 1 ? sizes[0] : sizes[i]);
  }
  return {x};
}

const OpRow kRows[] = {
    {"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
     "SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
     "SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, "
     "SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
     "str padding=\"valid\", SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
     "str padding=\"valid\", SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, "
     "str padding=\"valid\", SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
     "SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> "
     "Tensor",
     convolution, eval::convolution},
    {"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
     "SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, "
     "SymInt[2] dilation=1) -> Tensor",
     convolution, eval::convolution},
    {"aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
     "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
     "SymInt groups) -> Tensor",
     convolution, eval::convolution},
    {"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
     "int[1] dilation=1, bool ceil_mode=False) -> Tensor",
     pooled, eval::max_pool},
    {"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     pooled, eval::max_pool},
    {"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
     pooled, eval::avg_pool},
    {"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
     "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     pooled, eval::avg_pool},
    written("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", adaptive),
    written("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", adaptive),
};

}  // namespace

std::span<const OpRow> convolution_and_pooling() { return kRows; }

}  // namespace slipway::ops

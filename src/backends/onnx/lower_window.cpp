// Lowering rows: convolutions, poolings, padding, reversing, resizing.
#include <limits>

#include "backends/onnx/lower.h"
#include "lowering/window.h"

namespace slipway::onnx {
namespace {

using lowering::syms, lowering::with_batch;

/// Before every axis, then behind every axis.
std::vector<Sym> both_sides(const std::vector<int64_t>& padding) {
  std::vector<Sym> pads = syms(padding);
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

Value convolution(Lower& l) {
  const ops::Window w = ops::convolution_window(l.args());
  return with_batch(l, w, [&](Value x, ValueType type) {
    if (w.transposed)
      return l.typed(
          "onnx::ConvTranspose",
          {x, l.in(1), l.in(2), named("dilations", syms(w.dilation)), named("group", w.groups),
           named("kernel_shape", syms(w.kernel)), named("output_padding", syms(w.output_padding)),
           named("pads", both_sides(w.padding)), named("strides", syms(w.stride))},
          std::move(type));
    return l.typed("onnx::Conv",
                   {x, l.in(1), l.in(2), named("dilations", syms(w.dilation)),
                    named("group", w.groups), named("kernel_shape", syms(w.kernel)),
                    named("pads", both_sides(w.padding)), named("strides", syms(w.stride))},
                   std::move(type));
  });
}

Value max_pool(Lower& l) {
  const ops::Window w = ops::pooling_window(l.args());
  return with_batch(l, w, [&](Value x, ValueType type) {
    return l.typed("onnx::MaxPool",
                   {x, named("dilations", syms(w.dilation)), named("kernel_shape", syms(w.kernel)),
                    named("pads", both_sides(w.padding)), named("strides", syms(w.stride))},
                   std::move(type));
  });
}

/// Another divisor than the kernel's size is a factor of the mean over the whole kernel.
Value avg_pool(Lower& l) {
  const ops::Window w = ops::pooling_window(l.args());
  const bool other = l.args().size() > 6 && l.has(6);
  const Value averaged = with_batch(l, w, [&](Value x, ValueType type) {
    return l.typed("onnx::AveragePool",
                   {x, named("count_include_pad", other || l.args().flag(5) ? 1 : 0),
                    named("kernel_shape", syms(w.kernel)), named("pads", both_sides(w.padding)),
                    named("strides", syms(w.stride))},
                   std::move(type));
  });
  if (!other) return averaged;
  return l("onnx::Mul", {averaged, l.scalar(w.area() / l.args().number(6), l.out().dtype)});
}

Value pad(Lower& l) {
  const Value x = l.in(0);
  const ops::Padding padding = ops::padding_of(l.args(), x.shape().size());
  SymShape pads = padding.before;
  pads.insert(pads.end(), padding.behind.begin(), padding.behind.end());
  const std::string& mode = l.args().text(2);
  if (mode != "constant")
    return l.typed("onnx::Pad",
                   {x, l.sizes(pads), none(), named("mode", mode == "replicate" ? "edge" : mode)},
                   l.out());
  const Value value = l.scalar(l.has(3) ? l.args().number(3) : 0.0, x.dtype());
  return l.typed("onnx::Pad", {x, l.sizes(pads), value}, l.out());
}

Value flip(Lower& l) {
  std::vector<int64_t> axes, starts, ends, steps;
  for (const int64_t axis : l.args().integers(1)) {
    axes.push_back(normalize_axis(axis, l.in(0).rank()));
    starts.push_back(-1);
    ends.push_back(std::numeric_limits<int64_t>::min());
    steps.push_back(-1);
  }
  if (axes.empty()) return l.in(0);
  return l.typed("onnx::Slice",
                 {l.in(0), l.ints(starts), l.ints(ends), l.ints(axes), l.ints(steps)}, l.out());
}

template <const char* kMode>
Value resize(Lower& l) {
  const Schema& schema = l.args().op().schema;
  const int corners = schema.find("align_corners");
  const auto factors = static_cast<size_t>(schema.find("scale_factors"));
  Value x = l.in(0);
  SymShape out = l.out().shape;
  const bool line = x.rank() == 3;  // ONNX Runtime resizes planes
  if (line) {
    SymShape plane = x.shape();
    plane.insert(plane.begin() + 2, 1);
    out.insert(out.begin() + 2, 1);
    x = l.reshape(x, plane);
  }
  Value scales, sizes;
  if (const auto* given = std::get_if<std::vector<double>>(&l.args()[factors])) {
    std::vector<float> all(out.size() - given->size(), 1.0F);
    for (const double factor : *given) all.push_back(static_cast<float>(factor));
    scales = l.floats(all);
  } else {
    sizes = l.sizes(out);
  }
  const bool nearest = std::string_view(kMode) == "nearest";
  const bool aligned = corners >= 0 && l.args().flag(static_cast<size_t>(corners));
  const Value resized = l.typed(
      "onnx::Resize",
      {x, none(), scales, sizes,
       named("coordinate_transformation_mode", nearest   ? "asymmetric"
                                               : aligned ? "align_corners"
                                                         : "half_pixel"),
       named("mode", kMode), named("nearest_mode", nearest ? "floor" : "round_prefer_floor")},
      {x.dtype(), out});
  return line ? l.reshape(resized, l.out().shape) : resized;
}
constexpr char kNearest[] = "nearest", kLinear[] = "linear", kCubic[] = "cubic";

const LoweringRow kRows[] = {
    {"aten::conv1d", convolution},
    {"aten::conv2d", convolution},
    {"aten::conv3d", convolution},
    {"aten::conv1d.padding", convolution},
    {"aten::conv2d.padding", convolution},
    {"aten::conv3d.padding", convolution},
    {"aten::conv_transpose1d", convolution},
    {"aten::conv_transpose2d.input", convolution},
    {"aten::convolution", convolution},
    {"aten::max_pool1d", max_pool},
    {"aten::max_pool2d", max_pool},
    {"aten::avg_pool1d", avg_pool},
    {"aten::avg_pool2d", avg_pool},
    {"aten::pad", pad},
    {"aten::flip", flip},
    {"aten::upsample_nearest1d.vec", resize<kNearest>},
    {"aten::upsample_nearest2d.vec", resize<kNearest>},
    {"aten::upsample_linear1d.vec", resize<kLinear>},
    {"aten::upsample_bilinear2d.vec", resize<kLinear>},
    {"aten::upsample_bicubic2d.vec", resize<kCubic>},
};

}  // namespace

std::span<const LoweringRow> window_rows() { return kRows; }

}  // namespace slipway::onnx

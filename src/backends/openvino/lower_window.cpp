// Lowering rows: convolutions, poolings, padding, reversing, resizing.
#include <limits>

#include "backends/openvino/lower.h"
#include "lowering/window.h"

namespace slipway::openvino {
namespace {

using lowering::syms, lowering::with_batch;

/// [out, in, kernel] as [groups, out / groups, in, kernel]; the first axis is "in" of a transposed
/// one.
Value filters(Lower& l, const ops::Window& w) {
  if (w.groups == 1) return l.in(1);
  Shape shape = {w.groups};
  for (const Sym s : l.args().type(1).shape) shape.push_back(s.value());
  shape[1] /= w.groups;
  return l.weight_as(1, shape);
}

Value convolution(Lower& l) {
  const ops::Window w = ops::convolution_window(l.args());
  const Value kernel = filters(l, w);
  const bool one = w.groups == 1;
  return with_batch(l, w, [&](Value x, const ValueType& type) {
    const OpArg strides = named("strides", syms(w.stride));
    const OpArg dilations = named("dilations", syms(w.dilation));
    const OpArg begin = named("pads_begin", syms(w.padding));
    const OpArg end = named("pads_end", syms(w.padding));
    const Value product = w.transposed ? l.typed(one ? "ov::ConvolutionBackpropData"
                                                     : "ov::GroupConvolutionBackpropData",
                                                 {x, kernel, strides, dilations, begin, end,
                                                  named("output_padding", syms(w.output_padding))},
                                                 type)
                                       : l.typed(one ? "ov::Convolution" : "ov::GroupConvolution",
                                                 {x, kernel, strides, dilations, begin, end}, type);
    if (!l.has(2)) return product;
    SymShape along(type.shape.size(), Sym(1));
    along[1] = type.shape[1];
    return l("ov::Add", {product, l.reshape(l.in(2), along)});
  });
}

Value max_pool(Lower& l) {
  const ops::Window w = ops::pooling_window(l.args());
  return with_batch(l, w, [&](Value x, const ValueType& type) {
    return l.typed_all("ov::MaxPool",
                       {x, named("strides", syms(w.stride)), named("dilations", syms(w.dilation)),
                        named("pads_begin", syms(w.padding)), named("pads_end", syms(w.padding)),
                        named("kernel", syms(w.kernel))},
                       {type, {DType::kI64, type.shape}})[0];
  });
}

/// Another divisor than the kernel's size is a factor of the mean over the whole kernel.
Value avg_pool(Lower& l) {
  const ops::Window w = ops::pooling_window(l.args());
  const bool other = l.args().size() > 6 && l.has(6);
  const Value averaged = with_batch(l, w, [&](Value x, const ValueType& type) {
    return l.typed("ov::AvgPool",
                   {x, named("kernel", syms(w.kernel)), named("strides", syms(w.stride)),
                    named("pads_begin", syms(w.padding)), named("pads_end", syms(w.padding)),
                    named("exclude_pad", !(other || l.args().flag(5)))},
                   type);
  });
  if (!other) return averaged;
  return l("ov::Multiply", {averaged, l.scalar(w.area() / l.args().number(6), l.out().dtype)});
}

Value pad(Lower& l) {
  const Value x = l.in(0);
  const ops::Padding padding = ops::padding_of(l.args(), x.shape().size());
  const std::string& mode = l.args().text(2);
  const Value value =
      mode == "constant" ? l.scalar(l.has(3) ? l.args().number(3) : 0.0, x.dtype()) : Value();
  return l.typed("ov::Pad",
                 {x, l.sizes(padding.before), l.sizes(padding.behind), value,
                  named("pad_mode", mode == "replicate" ? "edge" : mode)},
                 l.out());
}

Value flip(Lower& l) {
  std::vector<int64_t> axes;
  for (const int64_t axis : l.args().integers(1))
    axes.push_back(normalize_axis(axis, l.in(0).rank()));
  if (axes.empty()) return l.in(0);
  const auto all = [&](int64_t value) { return l.ints(std::vector<int64_t>(axes.size(), value)); };
  return l.typed(
      "ov::Slice",
      {l.in(0), all(-1), all(std::numeric_limits<int64_t>::min()), all(-1), l.ints(axes)}, l.out());
}

template <const char* kMode>
Value resize(Lower& l) {
  const Schema& schema = l.args().op().schema;
  const int corners = schema.find("align_corners");
  const auto factors = static_cast<size_t>(schema.find("scale_factors"));
  Value x = l.in(0);
  SymShape out = l.out().shape;
  const bool line = x.rank() == 3;  // planes are resized: folding takes nothing else
  if (line) {
    x = l.unsqueeze(x, 2);
    out.insert(out.begin() + 2, 1);
  }
  const SymShape plane(out.end() - 2, out.end());
  Value target;
  if (const auto* given = std::get_if<std::vector<double>>(&l.args()[factors])) {
    std::vector<float> scales(2 - given->size(), 1.0F);
    for (const double factor : *given) scales.push_back(static_cast<float>(factor));
    target = l.floats(scales);
  } else {
    target = l.sizes(plane);
  }
  const bool nearest = std::string_view(kMode) == "nearest";
  const bool aligned = corners >= 0 && l.args().flag(static_cast<size_t>(corners));
  const std::vector<Sym> none(4, Sym(0));
  const Value y =
      l.typed("ov::Interpolate",
              {x, target, l.ints({2, 3}), named("mode", kMode),
               named("shape_calculation_mode", target.is_floating() ? "scales" : "sizes"),
               named("coordinate_transformation_mode", nearest   ? "asymmetric"
                                                       : aligned ? "align_corners"
                                                                 : "half_pixel"),
               named("pads_begin", none), named("pads_end", none)},
              {x.dtype(), out});
  return line ? l.squeeze(y, 2) : y;
}
constexpr char kNearest[] = "nearest", kLinear[] = "linear_onnx", kCubic[] = "cubic";

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

}  // namespace slipway::openvino

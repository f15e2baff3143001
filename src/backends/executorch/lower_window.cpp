// Lowering rows: convolutions, poolings, padding, reversing, resizing.
#include "backends/executorch/lower.h"
#include "lowering/window.h"

namespace slipway::executorch {
namespace {

using lowering::syms, lowering::with_batch;

/// A line as a plane of height 1: delegates convolve planes.
void widen(ops::Window& w) {
  for (auto* one : {&w.kernel, &w.stride, &w.dilation}) one->insert(one->begin(), 1);
  w.padding.insert(w.padding.begin(), 0);
  if (!w.output_padding.empty()) w.output_padding.insert(w.output_padding.begin(), 0);
}

Value convolution(Lower& l) {
  const ops::Window given = ops::convolution_window(l.args());
  return with_batch(l, given, [&](Value x, const ValueType& type) {
    ops::Window w = given;
    Value filters = l.in(1);
    ValueType out = type;
    const bool line = w.axes() == 1;
    if (line) {
      widen(w);
      x = l.unsqueeze(x, 2);
      filters = l.unsqueeze(filters, 2);
      out.shape.insert(out.shape.begin() + 2, 1);
    }
    const std::vector<int64_t> none(w.axes(), 0);
    const Value y = l.typed("et::convolution.out",
                            {x, filters, l.in(2), syms(w.stride), syms(w.padding), syms(w.dilation),
                             w.transposed, syms(w.transposed ? w.output_padding : none), w.groups},
                            out);
    return line ? l.squeeze(y, 2) : y;
  });
}

/// Runs f(x, window, type) on planes: the kernels of poolings know two axes.
template <class F>
Value on_planes(Lower& l, F f) {
  ops::Window w = ops::pooling_window(l.args());
  return with_batch(l, w, [&](Value x, const ValueType& type) {
    if (w.axes() == 2) return f(x, w, type);
    SymShape in = x.shape(), out = type.shape;
    in.insert(in.begin() + 2, 1);
    out.insert(out.begin() + 2, 1);
    ops::Window plane = w;
    widen(plane);
    return l.reshape(f(l.reshape(x, in), plane, ValueType{type.dtype, out}), type.shape);
  });
}

Value max_pool(Lower& l) {
  return on_planes(l, [&](Value x, const ops::Window& w, const ValueType& type) {
    return l.typed_all(
        "et::max_pool2d_with_indices.out",
        {x, syms(w.kernel), syms(w.stride), syms(w.padding), syms(w.dilation), false},
        {type, {DType::kI64, type.shape}})[0];
  });
}

Value avg_pool(Lower& l) {
  const OpArg divisor = l.args().size() > 6 && l.has(6) ? OpArg(l.args().integer(6)) : OpArg(Arg());
  return on_planes(l, [&](Value x, const ops::Window& w, const ValueType& type) {
    return l.typed(
        "et::avg_pool2d.out",
        {x, syms(w.kernel), syms(w.stride), syms(w.padding), false, l.args().flag(5), divisor},
        type);
  });
}

/// Padding by less than nothing cuts off: x cut, and what is left to pad.
std::pair<Value, std::vector<Sym>> cut_first(Lower& l) {
  Value x = l.in(0);
  std::vector<Sym> pads = l.args().syms(1);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (!pads[i].is_const() || pads[i].value() >= 0) continue;
    const int64_t axis = x.rank() - 1 - static_cast<int64_t>(i / 2);
    const Sym size = x.dim(axis), off = Sym(0) - pads[i];
    ValueType type = x.type();
    type.shape[static_cast<size_t>(axis)] = size - off;
    const bool front = i % 2 == 0;
    x = l.slice(x, axis, front ? off : Sym(0), front ? size : size - off, 1, type);
    pads[i] = 0;
  }
  return {x, pads};
}

Value pad(Lower& l) {
  const auto [x, given] = cut_first(l);
  const std::string& mode = l.args().text(2);
  if (mode == "constant")
    return l.typed("et::constant_pad_nd.out", {x, given, l.has(3) ? l.args().number(3) : 0.0},
                   l.out());
  static const std::map<std::pair<std::string, size_t>, std::string_view> kKernels = {
      {{"reflect", 2}, "et::reflection_pad1d.out"},
      {{"reflect", 4}, "et::reflection_pad2d.out"},
      {{"reflect", 6}, "et::reflection_pad3d.out"},
      {{"replicate", 2}, "et::replication_pad1d.out"},
      {{"replicate", 4}, "et::replication_pad2d.out"},
      {{"replicate", 6}, "et::replication_pad3d.out"}};
  return l.typed(kKernels.at({mode, given.size()}), {x, given}, l.out());  // lower() refuses others
}

Value flip(Lower& l) {
  std::vector<Sym> axes;
  for (const int64_t axis : l.args().integers(1))
    axes.emplace_back(normalize_axis(axis, l.in(0).rank()));
  return axes.empty() ? l.in(0) : l("et::flip.out", {l.in(0), axes});
}

/// The kernels resize planes.
template <const char* kOp>
Value resize(Lower& l) {
  const Schema& schema = l.args().op().schema;
  const int corners = schema.find("align_corners");
  const auto factors = static_cast<size_t>(schema.find("scale_factors"));
  Value x = l.in(0);
  SymShape out = l.out().shape;
  const bool line = x.rank() == 3;
  if (line) {
    x = l.unsqueeze(x, 2);
    out.insert(out.begin() + 2, 1);
  }
  OpArg sizes = Arg(), scales = Arg();
  if (const auto* given = std::get_if<std::vector<double>>(&l.args()[factors])) {
    std::vector<double> both(2 - given->size(), 1.0);
    both.insert(both.end(), given->begin(), given->end());
    scales = OpArg(both);
  } else {
    sizes = OpArg(SymShape(out.end() - 2, out.end()));
  }
  const ValueType type{x.dtype(), out};
  const Value y =
      corners < 0
          ? l.typed(kOp, {x, sizes, scales}, type)
          : l.typed(kOp, {x, sizes, l.args().flag(static_cast<size_t>(corners)), scales}, type);
  return line ? l.squeeze(y, 2) : y;
}
constexpr char kNearest[] = "et::upsample_nearest2d.vec_out";
constexpr char kLinear[] = "et::upsample_bilinear2d.vec_out";

const LoweringRow kRows[] = {
    {"aten::conv1d", convolution},
    {"aten::conv2d", convolution},
    {"aten::conv1d.padding", convolution},
    {"aten::conv2d.padding", convolution},
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
};

}  // namespace

std::span<const LoweringRow> window_rows() { return kRows; }

}  // namespace slipway::executorch

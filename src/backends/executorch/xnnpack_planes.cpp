// From kernels to nodes of XNNPACK: convolutions and poolings, whose planes have channels last
// there.
#include <functional>

#include "backends/executorch/xnnpack_rows.h"
#include "checkpoint/expr.h"

namespace slipway::executorch {
namespace {

using B = XnnpackBuilder;

SymShape channels_last(const SymShape& s) { return {s[0], s[2], s[3], s[1]}; }

std::vector<int64_t> pair(const Args& a, size_t i) {
  std::vector<int64_t> values = a.integers(i);
  if (values.size() == 1) values.push_back(values[0]);
  return values;
}

uint32_t u(int64_t value) { return static_cast<uint32_t>(value); }

/// The node between a transposition of its first input and one of its output.
void add_planes(B& b, const Node& node, xnnpack::Node made) {
  const Value x = node.arguments().value(0);
  const xnnpack::ValueId in = b.inner({x.dtype(), channels_last(x.shape())});
  const xnnpack::ValueId out = b.inner({x.dtype(), channels_last(node.types[0].shape)});
  b.add({.kind = xnnpack::NodeKind::kStaticTranspose,
         .inputs = {b.operand(x)},
         .outputs = {in},
         .attributes = xnnpack::Transpose{{0, 2, 3, 1}}});
  made.inputs.insert(made.inputs.begin(), in);
  made.outputs = {out};
  b.add(std::move(made));
  b.add({.kind = xnnpack::NodeKind::kStaticTranspose,
         .inputs = {out},
         .outputs = {b.result(result_of(node))},
         .attributes = xnnpack::Transpose{{0, 3, 1, 2}}});
}

/// Filters [out, in, height, width] as [out, height, width, in].
Lazy filters(const Lazy& data) {
  const Shape& s = data->shape();
  const int64_t inputs = s[1], area = s[2] * s[3];
  const Shape wanted = {s[0], s[2], s[3], s[1]};
  if (inputs == 1 || area == 1) return lazy_reshape(data, wanted);
  std::vector<Lazy> parts;
  for (int64_t o = 0; o < s[0]; ++o)
    parts.push_back(lazy_transpose2d(lazy_reshape(lazy_slice(data, o, o + 1), {inputs, area})));
  return lazy_reshape(lazy_concat(std::move(parts)), wanted);
}

std::string convolution(B& b, const Node& node) {
  const Args a = node.arguments();
  if (a.type(0).shape.size() != 4) return "not over planes";
  if (a.flag(6)) return "it is transposed";
  if (!is_static(a.value(1))) return "the filters are not static";
  if (a.has(2) && !is_static(a.value(2))) return "the bias is not static";
  const std::vector<int64_t> stride = pair(a, 3), padding = pair(a, 4), dilation = pair(a, 5);
  const int64_t groups = a.integer(8);
  SymShape s = a.type(1).shape;
  xnnpack::Window window{
      .padding_top = u(padding[0]),
      .padding_right = u(padding[1]),
      .padding_bottom = u(padding[0]),
      .padding_left = u(padding[1]),
      .kernel_height = u(s[2].value()),
      .kernel_width = u(s[3].value()),
      .stride_height = u(stride[0]),
      .stride_width = u(stride[1]),
      .dilation_height = u(dilation[0]),
      .dilation_width = u(dilation[1]),
      .group_input_channels = u(s[1].value()),
      .group_output_channels = u(s[0].value() / groups),
      .groups = u(groups),
  };
  const Lazy& data = a.value(1).node()->data;
  const xnnpack::ValueId weights =
      b.stored({a.type(1).dtype, channels_last(s)}, data == nullptr ? nullptr : filters(data));
  add_planes(b, node,
             {.kind = xnnpack::NodeKind::kConv2d,
              .inputs = {weights, a.has(2) ? b.operand(a.value(2)) : xnnpack::kNoValue},
              .attributes = window});
  return "";
}

xnnpack::Window pooling(const Args& a) {
  const std::vector<int64_t> kernel = pair(a, 1), padding = pair(a, 3);
  std::vector<int64_t> stride = pair(a, 2);
  if (stride.empty()) stride = kernel;
  return {.padding_top = u(padding[0]),
          .padding_right = u(padding[1]),
          .padding_bottom = u(padding[0]),
          .padding_left = u(padding[1]),
          .kernel_height = u(kernel[0]),
          .kernel_width = u(kernel[1]),
          .stride_height = u(stride[0]),
          .stride_width = u(stride[1])};
}

/// The places of the largest elements are not given: lowering never reads them.
std::string max_pool(B& b, const Node& node) {
  const Args a = node.arguments();
  if (a.type(0).shape.size() != 4) return "not over planes";
  xnnpack::Window window = pooling(a);
  const std::vector<int64_t> dilation = pair(a, 4);
  window.dilation_height = u(dilation[0]);
  window.dilation_width = u(dilation[1]);
  if (window.stride_height > window.kernel_height || window.stride_width > window.kernel_width)
    return "the stride is longer than the kernel";
  add_planes(b, node, {.kind = xnnpack::NodeKind::kMaxPool2d, .attributes = window});
  return "";
}

std::string avg_pool(B& b, const Node& node) {
  const Args a = node.arguments();
  if (a.type(0).shape.size() != 4) return "not over planes";
  const xnnpack::Window window = pooling(a);
  const bool padded = window.padding_top != 0 || window.padding_left != 0;
  if (padded && a.flag(5)) return "padding counts";
  if (a.has(6)) return "it has a divisor of its own";
  if (window.kernel_height * window.kernel_width == 1) return "the kernel is one element";
  add_planes(b, node, {.kind = xnnpack::NodeKind::kAvgPool2d, .attributes = window});
  return "";
}

const XnnpackRow kRows[] = {
    {"et::avg_pool2d.out", avg_pool},
    {"et::convolution.out", convolution},
    {"et::max_pool2d_with_indices.out", max_pool},
};

}  // namespace

std::span<const XnnpackRow> plane_rows() { return kRows; }

}  // namespace slipway::executorch

// Windows that slide over the last axes.
#include "ir/ops/window.h"

#include "ir/ops/bodies.h"

namespace slipway::ops {
namespace {

/// Argument i, one number standing for all axes; an empty list gives `otherwise`.
std::vector<int64_t> numbers(const Args& a, std::string_view name, size_t axes,
                             std::vector<int64_t> otherwise) {
  const int i = a.op().schema.find(name);
  if (i < 0) return otherwise;
  std::vector<int64_t> found = per_axis(a.integers(static_cast<size_t>(i)), axes);
  if (found.empty()) return otherwise;
  if (found.size() != axes) a.fail("'" + std::string(name) + "' needs a number for every axis");
  return found;
}

void check(const Args& a, const Window& w) {
  for (size_t i = 0; i < w.axes(); ++i)
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.padding[i] < 0 ||
        w.output_padding[i] < 0)
      a.fail("kernel, stride and dilation must be at least 1, padding at least 0");
}

/// "same" pads by half of the kernel's reach, which must be even on both sides alike.
std::vector<int64_t> named_padding(const Args& a, const Window& w, const std::string& mode) {
  std::vector<int64_t> padding(w.axes(), 0);
  if (mode == "valid") return padding;
  if (mode != "same") a.fail("padding must be 'valid' or 'same'");
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t reach = w.dilation[i] * (w.kernel[i] - 1);
    if (w.stride[i] != 1) a.fail("padding 'same' needs a stride of 1");
    if (reach % 2 != 0)
      throw Error(kUnsupported, "[ir] " + a.op().name() +
                                    ": padding 'same' of an even kernel; pad "
                                    "the input before");
    padding[i] = reach / 2;
  }
  return padding;
}

}  // namespace

Window convolution_window(const Args& a) {
  const SymShape& weight = a.type(1).shape;
  if (weight.size() < 3) a.fail("the weight must be [out, in / groups, kernel...]");
  const size_t axes = weight.size() - 2;
  Window w;
  for (size_t i = 2; i < weight.size(); ++i) {
    if (!weight[i].is_const()) a.fail("the kernel's size must be a number");
    w.kernel.push_back(weight[i].value());
  }
  const std::vector<int64_t> zeros(axes, 0), ones(axes, 1);
  const Schema& schema = a.op().schema;
  w.stride = numbers(a, "stride", axes, ones);
  w.dilation = numbers(a, "dilation", axes, ones);
  w.output_padding = numbers(a, "output_padding", axes, zeros);
  w.groups = a.integer(static_cast<size_t>(schema.find("groups")));
  const int transposed = schema.find("transposed");
  w.transposed = transposed >= 0 ? a.flag(static_cast<size_t>(transposed))
                                 : schema.name.starts_with("aten::conv_transpose");
  const auto padding = static_cast<size_t>(schema.find("padding"));
  if (std::holds_alternative<std::string>(a[padding]))
    w.padding = named_padding(a, w, a.text(padding));
  else w.padding = numbers(a, "padding", axes, zeros);
  if (w.groups < 1) a.fail("groups must be at least 1");
  check(a, w);
  return w;
}

Window pooling_window(const Args& a) {
  const Schema& schema = a.op().schema;
  const size_t axes = schema.name.find("pool1d") != std::string::npos   ? 1
                      : schema.name.find("pool2d") != std::string::npos ? 2
                                                                        : 3;
  Window w;
  w.kernel = numbers(a, "kernel_size", axes, {});
  if (w.kernel.empty()) a.fail("needs a kernel_size");
  w.stride = numbers(a, "stride", axes, w.kernel);
  w.padding = numbers(a, "padding", axes, {});
  w.dilation = numbers(a, "dilation", axes, std::vector<int64_t>(axes, 1));
  w.output_padding.assign(axes, 0);
  if (a.flag(static_cast<size_t>(schema.find("ceil_mode"))))
    throw Error(kUnsupported, "[ir] " + schema.name + ": got ceil_mode=true, need false");
  check(a, w);
  for (size_t i = 0; i < axes; ++i)
    if (2 * w.padding[i] > w.kernel[i]) a.fail("padding must be at most half of the kernel");
  return w;
}

SymShape windowed(const Window& w, const SymShape& input, SymShape lead) {
  for (size_t i = 0; i < w.axes(); ++i) {
    const Sym size = input[input.size() - w.axes() + i];
    const int64_t reach = w.dilation[i] * (w.kernel[i] - 1);
    lead.push_back(w.transposed ? (size - 1) * w.stride[i] - 2 * w.padding[i] + reach +
                                      w.output_padding[i] + 1
                                : floordiv(size + (2 * w.padding[i] - reach - 1), w.stride[i]) + 1);
  }
  return lead;
}

double Window::area() const {
  double area = 1;
  for (const int64_t k : kernel) area *= static_cast<double>(k);
  return area;
}

Padding padding_of(const Args& a, size_t rank) {
  Padding result{SymShape(rank, Sym(0)), SymShape(rank, Sym(0))};
  const std::vector<Sym>& given = a.syms(1);
  for (size_t i = 0; i < given.size() / 2; ++i) {
    result.before[rank - 1 - i] = given[2 * i];
    result.behind[rank - 1 - i] = given[2 * i + 1];
  }
  return result;
}

}  // namespace slipway::ops

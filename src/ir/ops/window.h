// Windows that slide over the last axes: kernels of convolutions and poolings.
#pragma once

#include "ir/ops/infer.h"

namespace slipway::ops {

/// A convolution's or pooling's numbers, one per spatial axis.
struct Window {
  std::vector<int64_t> kernel, stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;

  size_t axes() const { return kernel.size(); }
  /// Elements under the kernel.
  double area() const;
};

/// The window of a convolution op: `aten::convolution` or one of the conv names.
Window convolution_window(const Args& a);
/// The window of max_poolNd or avg_poolNd. Error{kUnsupported} for ceil_mode.
Window pooling_window(const Args& a);
/// What aten::pad adds before and behind every axis of a tensor of this rank.
struct Padding {
  SymShape before, behind;
};
Padding padding_of(const Args& a, size_t rank);
/// The spatial sizes that the window gives, appended to `lead`.
SymShape windowed(const Window& w, const SymShape& input, SymShape lead);

}  // namespace slipway::ops

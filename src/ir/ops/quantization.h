// What the bodies of quantizing ops share.
#pragma once

#include <utility>
#include <vector>

#include "ir/ops/bodies.h"

namespace slipway::ops::quantized {

/// Arguments i and i + 1 as the range of quantized values; the dtype's where they are left out.
/// Throws Error{kInvalid} for a range that the dtype does not hold.
std::pair<double, double> range(const Args& a, size_t i, DType dtype);

/// f32 of narrower floating types.
Value single(const Args& a, Value x);

Value clamp(const Args& a, Value x, double low, double high);
/// Halves go to the even neighbour.
Value round(const Args& a, Value x);
/// x limited from below.
Value at_least(const Args& a, Value x, double low);

/// The lowest and highest value over axes, and 0. No axes are all, as in torch.
std::pair<Value, Value> extremes(const Args& a, Value x, const std::vector<int64_t>& axes,
                                 bool keepdim);

}  // namespace slipway::ops::quantized

// Conversion of runs of elements between any two element types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "slipway/dtype.h"

namespace slipway {

/// Converts `count` elements; `in` and `out` may be unaligned and must not overlap. Floating
/// formats round to nearest even, from f64 by way of f32 as torch does; beyond its range F8 E4M3
/// gives NaN and E5M2 infinity. Floats to integers truncate towards zero, saturate, and NaN becomes
/// 0. Integers to narrower integers keep the low bits. Anything to bool is x != 0.
void convert(DType from, const std::byte* in, DType to, std::byte* out, int64_t count);

}  // namespace slipway

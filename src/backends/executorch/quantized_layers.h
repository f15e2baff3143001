// Linear layers of quantized graphs as one op that XNNPACK computes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace slipway::executorch {

/// A layer whose weight is quantized:
///   et::linear_quantized(input, weight, scales, bias, *, dynamic)
/// The weight is i8 [out, in], or u8 [out, in / 2] with two elements a byte, 8 added to each, the
/// first in the lower half. Scales are f32 [out] or bf16 [out, in / group]. With `dynamic` the
/// input is quantized while it runs, to 8 bits with parameters a row. Only XNNPACK has it.
inline constexpr std::string_view kQuantizedLinear = "et::linear_quantized";

/// f32 rounded to what 8 bits can say and back: et::round_to(input, scale, zero_point, signed).
inline constexpr std::string_view kRoundTo = "et::round_to";

/// A layer whose input and result are rounded to int8 by fixed parameters, summed in integers:
/// et::linear_int8(input, weight, scales, bias, parameters): the weight as i8 above, the bias i32
/// in steps of the input's scale times the weight's, whose products are `bias_scales`. Parameters
/// are scale and zero point of the input, then of the result; all of input and result are f32.
inline constexpr std::string_view kInt8Linear = "et::linear_int8";

/// Finds in a source graph layers that read dequantized weights, and inputs that are quantized and
/// dequantized at once, and writes them as the ops above where XNNPACK has a node for them. Returns
/// why other layers with dequantized weights stay as they are, with counts.
///
/// A layer whose input is quantized while it runs with one scale for the whole tensor gets one a
/// row, which is closer to the unquantized values: XNNPACK knows no other. Scales of groups are
/// rounded to bfloat16, as XNNPACK has them.
std::map<std::string, int64_t> fuse_quantized_layers(Graph& graph);

}  // namespace slipway::executorch

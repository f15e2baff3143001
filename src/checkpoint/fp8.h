// FP8 checkpoints: weights with scales as plain tensors, and refusal of schemes not known here.
#pragma once

#include <memory>

#include "checkpoint/config.h"
#include "checkpoint/weight_store.h"

namespace slipway {

/// Looks at quantization_config and at the stored names and dtypes, and gives a store of plain
/// weights: the same one when nothing is quantized, or one that dequantizes FP8 weights to f32 with
/// their `weight_scale_inv` or `weight_scale` (a block grid, one per row, or one in all). Throws
/// Error{kUnsupported} naming a scheme not known here (gptq, awq, bitsandbytes, ...),
/// Error{kInvalid} when a scale is missing or its shape does not fit.
std::shared_ptr<const WeightStore> open_quantization(std::shared_ptr<const WeightStore> stored,
                                                     const Config& config);

/// x, a matrix of F8 elements, times its scales in f32. Scale [i / block_rows, j / block_cols]
/// belongs to element [i, j]; edge blocks may be partial.
Lazy lazy_dequantize_fp8(Lazy x, Lazy scale, int64_t block_rows, int64_t block_cols);

}  // namespace slipway

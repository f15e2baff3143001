// FP8 checkpoints: weights with scales beside them, read as plain f32 tensors.
#pragma once

#include <memory>
#include <optional>

#include "checkpoint/weight_store.h"

namespace slipway {

/// Rows and columns of a weight that share one scale.
struct ScaleBlock {
  int64_t rows = 128;
  int64_t columns = 128;
};

/// x, a matrix of F8 elements, times its scales, in f32. Scale [i / block.rows, j / block.columns]
/// belongs to element [i, j]; the last block of a row or column may be partial.
Lazy lazy_dequantize_fp8(Lazy x, Lazy scale, ScaleBlock block);

/// A store whose F8 tensors are multiplied by their scales as they are read: `<name>_scale_inv` or
/// `<name>_scale` holds one scale in all, one per row, or one per `block` where the scheme has
/// blocks. Scales, also those of activations and caches, are left out of names(). Everything is
/// checked here; throws Error{kInvalid} when a scale is missing or does not fit its weight.
std::shared_ptr<const WeightStore> dequantize_fp8(std::shared_ptr<const WeightStore> stored,
                                                  std::optional<ScaleBlock> block);

}  // namespace slipway

// The families of op rows, one file each.
#pragma once

#include <span>
#include <vector>

#include "ir/op.h"

namespace slipway::ops {

std::span<const OpRow> pointwise();
std::span<const OpRow> comparison();
std::span<const OpRow> reduction();
std::span<const OpRow> shape();
std::span<const OpRow> creation();
std::span<const OpRow> indexing();
std::span<const OpRow> linear_algebra();
std::span<const OpRow> normalization();
std::span<const OpRow> composite();
std::span<const OpRow> rounding();
std::span<const OpRow> activation();
std::span<const OpRow> statistics();
std::span<const OpRow> statistical_norms();
std::span<const OpRow> sorting();
std::span<const OpRow> scatter_and_index();
std::span<const OpRow> convolution_and_pooling();
std::span<const OpRow> padding();
std::span<const OpRow> sums_of_products();
std::span<const OpRow> attention_and_groups();
std::span<const OpRow> spellings_creation();
std::span<const OpRow> spellings_shape();
std::span<const OpRow> spellings_pieces();
std::span<const OpRow> spellings_math();
std::span<const OpRow> searching();
std::span<const OpRow> unfolding();
std::span<const OpRow> quantization();
std::span<const OpRow> quantization_affine();

/// All of them; a new family is one line here.
inline std::vector<std::span<const OpRow>> families() {
  return {pointwise(),
          comparison(),
          reduction(),
          shape(),
          creation(),
          indexing(),
          linear_algebra(),
          normalization(),
          composite(),
          rounding(),
          activation(),
          statistics(),
          statistical_norms(),
          sorting(),
          scatter_and_index(),
          convolution_and_pooling(),
          padding(),
          sums_of_products(),
          attention_and_groups(),
          spellings_creation(),
          spellings_shape(),
          spellings_pieces(),
          spellings_math(),
          searching(),
          unfolding(),
          quantization(),
          quantization_affine()};
}

}  // namespace slipway::ops

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

/// All of them; a new family is one line here.
inline std::vector<std::span<const OpRow>> families() {
  return {pointwise(), comparison(),     reduction(),     shape(),    creation(),
          indexing(),  linear_algebra(), normalization(), composite()};
}

}  // namespace slipway::ops

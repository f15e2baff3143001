// Lazy expressions over weights: computed range by range while a writer reads them.
#pragma once

#include <vector>

#include "base/lazy.h"

namespace slipway {

/// x converted element by element. Floating formats round to nearest even; F8 E4M3 saturates to
/// NaN, E5M2 to infinity as torch does; floats to integers truncate towards zero (saturating, NaN
/// to 0); anything to bool is x != 0. Returns x itself when the dtype is the same, and one object
/// for equal calls while it lives.
Lazy lazy_cast(Lazy x, DType dtype);

/// [rows, cols] -> [cols, rows]. Best read in ranges of granularity() elements: a few output rows,
/// so that every source granule is decoded once per range. One object for equal calls while it
/// lives.
Lazy lazy_transpose2d(Lazy x);

/// The same elements in the same order under another shape of as many elements. One object for
/// equal calls while it lives, as of slices.
Lazy lazy_reshape(Lazy x, Shape shape);

/// Rows [begin, end) along dimension 0.
Lazy lazy_slice(Lazy x, int64_t begin, int64_t end);

/// Tensors of equal dtype and equal trailing shape, one after the other along dimension 0.
Lazy lazy_concat(std::vector<Lazy> parts);

/// out[i] = x[rows[i]] along dimension 0. Rows may repeat.
Lazy lazy_permute_rows(Lazy x, std::vector<int64_t> rows);

/// x * scale + offset in float, rounded to x's dtype, which must be floating point.
Lazy lazy_affine(Lazy x, double scale, double offset);

}  // namespace slipway

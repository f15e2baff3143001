// Elements of 4 bits, two a byte.
#pragma once

#include "base/lazy.h"

namespace slipway::executorch {

/// i8 [rows, columns] from -8 to 7 as u8 [rows, columns / 2]: 8 is added to each, the first of a
/// pair is in the lower half. Columns are even. Reading throws Error{kInvalid} for other elements.
Lazy lazy_nibbles(Lazy x);

}  // namespace slipway::executorch

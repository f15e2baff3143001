// Numbers and small constants of a graph's text; private to src/ir.
#pragma once

#include <optional>

#include "ir/parse_scan.h"
#include "slipway/tensor.h"

namespace slipway {

/// The number that all of `text` spells, "inf" and "nan" included; nullopt otherwise.
std::optional<double> real_number(std::string_view text);

/// Reads the elements of a constant: one, or a list in brackets, as many as the shape has.
Tensor constant_elements(Scanner& scan, DType dtype, const Shape& shape);

}  // namespace slipway

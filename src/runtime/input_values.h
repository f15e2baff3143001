// Conversion and checks of input values before a runtime sees them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/limits.h"
#include "slipway/tensor.h"

namespace slipway {

/// The tensor with the dtype that the graph needs. Integers and booleans convert among themselves
/// when every value fits, floating point only to a wider type. Otherwise throws Error{kInvalid}
/// naming the input, both dtypes and, where one is at fault, the value.
Tensor convert_input(const Tensor& tensor, DType wanted, std::string_view where,
                     std::string_view input);

/// Throws Error{kInvalid} naming the first value of an integer tensor outside the range, its place
/// and the limit. Does nothing for other dtypes.
void check_values(const Tensor& tensor, const Range& range, std::string_view where,
                  std::string_view input);

/// Throws Error{kInvalid} for a value of an integer or boolean mask other than 0 and 1.
void check_mask(const Tensor& tensor, std::string_view where, std::string_view input);

}  // namespace slipway

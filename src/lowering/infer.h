// Types of target ops that convert nothing by themselves.
#pragma once

#include <vector>

#include "ir/op.h"

namespace slipway::lowering {

/// Two operands of one dtype, broadcast.
std::vector<ValueType> two(const Args& a);
std::vector<ValueType> two_to_bool(const Args& a);
std::vector<ValueType> self(const Args& a);
std::vector<ValueType> self_to_bool(const Args& a);
/// The second and third argument, of one dtype, where the first chooses.
std::vector<ValueType> choice(const Args& a);
/// The first argument in the dtype that the second names.
std::vector<ValueType> converted(const Args& a);
/// Parts of one dtype along the axis of the second argument.
std::vector<ValueType> joined(const Args& a);
/// Elements of the first argument in the shape of the second.
std::vector<ValueType> at_indices(const Args& a);

}  // namespace slipway::lowering

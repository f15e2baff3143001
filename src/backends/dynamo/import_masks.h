// Writes through masks.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace slipway::dynamo {

/// index_put by one bool mask: a choice between what is there and what is written, element by
/// element. Nullopt where no mask is among the indices. Throws Error{kUnsupported} for a mask
/// beside other indices, Error{kInvalid} for one that does not fit.
std::optional<Value> masked_write(const Op& op, const std::vector<Arg>& args);

}  // namespace slipway::dynamo

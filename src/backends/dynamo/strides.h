// How results lie in memory when torch runs a graph.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace slipway::dynamo {

/// Strides of a contiguous tensor, in elements.
SymShape contiguous_strides(const SymShape& shape);

/// The strides of a node's output: those of its operand seen otherwise where the op is a view,
/// contiguous elsewhere. `of` gives the strides of operands.
SymShape strides_of(const Node& node, const std::function<const SymShape&(Value)>& of);

}  // namespace slipway::dynamo

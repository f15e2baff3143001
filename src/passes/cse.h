// Common subexpressions: computes equal things once.
#pragma once

#include "ir/graph.h"

namespace slipway {

/// Merges op nodes of equal op and arguments (swapped ones too where the op commutes) and constants
/// of equal dtype, shape and bytes; impure ops are left alone. The first in Graph::order() stays,
/// with its scope. Returns how many nodes were merged away; they are dropped. Time grows with the
/// size of the graph.
int64_t cse(Graph& graph);

}  // namespace slipway

// Constant folding.
#pragma once

#include "passes/pass.h"

namespace slipway {

/// Computes op nodes whose operands are all constants (or ranges and fills of fixed size) of at
/// most PassOptions::fold_limit elements, when the result is no larger. Weights are not read.
/// Returns how many nodes became constants.
int64_t fold(Graph& graph, PassContext& context);

}  // namespace slipway

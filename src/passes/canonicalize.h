// Identities: expressions that are one of their operands, and ops with a simpler spelling.
#pragma once

#include <span>

#include "passes/rewrite.h"

namespace slipway {

/// x + 0, x * 1, casts that change nothing, ...
std::span<const Rule> arithmetic_identities();
/// Views of views, permutations of permutations, slices of everything, ...
std::span<const Rule> shape_identities();

int64_t canonicalize(Graph& graph, PassContext& context);

}  // namespace slipway

// Facts about the arguments of nodes that passes compare.
#pragma once

#include <span>

#include "ir/graph.h"

namespace slipway {

/// True when the first two arguments may be swapped: the op commutes, both are tensors, and what
/// follows has its default value (a + alpha b only commutes for alpha = 1).
bool commutes(const Op& op, std::span<const Arg> args);

/// `arg` as argument i of `node`, in the one spelling that equal meanings share: axes counted from
/// the front; the axes of a reduction sorted, an empty list being all of them. `node` gives the
/// rank and must be typed; `arg` may come from a pattern of the same op.
Arg canonical_arg(const Node& node, size_t i, const Arg& arg);

}  // namespace slipway

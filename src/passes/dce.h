// Drops what no output depends on.
#pragma once

#include "ir/graph.h"

namespace slipway {

/// Drops dead op nodes, constants and weights; inputs stay. Returns how many went.
int64_t dce(Graph& graph);

}  // namespace slipway

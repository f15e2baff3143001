// Drops what no output depends on.
#include "passes/dce.h"

namespace slipway {

int64_t dce(Graph& graph) { return graph.drop_dead(); }

}  // namespace slipway

// Data where they are used: what XNNPACK packs in its graphs, everything else in the method.
#pragma once

#include "backends/executorch/program.h"

namespace slipway::executorch {

/// Turns static data that a graph's nodes read while they run into inputs of the graph, given by
/// constants of the method. The runtime's cache of packed weights lets go of all data of a graph
/// once it is loaded, so a graph that reads some cannot use it. Quantized data stay: a tensor has
/// no quantization, and scales are read at loading.
void pass_static_data(Method& method);

/// Makes a None of constants and buffers that no instruction and no output uses: the runtime loads
/// all constants of a file at once, and keeps them.
void drop_unused_data(Method& method);

}  // namespace slipway::executorch

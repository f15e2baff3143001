// Storing weights as float16.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace slipway::openvino {

/// Stores every float32 weight of a lowered graph as float16 behind a Convert, except those with a
/// finite value beyond its range (65504), which stay and whose names are returned. Reads every
/// weight once, by all cores, a few MiB at a time.
std::vector<std::string> compress_to_fp16(Graph& graph);

}  // namespace slipway::openvino

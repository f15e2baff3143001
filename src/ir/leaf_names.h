// Names of a graph's inputs and outputs in files, where a leaf may be both.
#pragma once

#include <string>

#include "ir/graph.h"

namespace slipway {

/// The name an input or output has in a file: `input.X` / `output.X` where X is both.
std::string input_name(const Graph& graph, const std::string& leaf);
std::string output_name(const Graph& graph, const std::string& leaf);

}  // namespace slipway

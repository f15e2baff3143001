// Names of a graph's inputs and outputs in files, where a leaf may be both.
#include "ir/leaf_names.h"

#include <algorithm>

namespace slipway {

std::string input_name(const Graph& graph, const std::string& leaf) {
  const auto& outputs = graph.outputs();
  const bool both = std::any_of(outputs.begin(), outputs.end(),
                                [&](const Output& output) { return output.name == leaf; });
  return both ? "input." + leaf : leaf;
}

std::string output_name(const Graph& graph, const std::string& leaf) {
  const auto& inputs = graph.inputs();
  const bool both = std::any_of(inputs.begin(), inputs.end(),
                                [&](const Node* input) { return input->name == leaf; });
  return both ? "output." + leaf : leaf;
}

}  // namespace slipway

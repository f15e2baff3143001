// From a graph of kernels to a method: values by number, instructions, sizes that are computed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backends/executorch/program.h"
#include "ir/graph.h"

namespace slipway::executorch {

/// Nodes that a delegate computes. None of them reads, by way of nodes outside, what another of
/// them gives.
struct Partition {
  std::vector<Node*> nodes;    ///< in the graph's order
  std::vector<Value> inputs;   ///< read from outside, constants of `delegate` left out
  std::vector<Value> outputs;  ///< read outside
  Delegate delegate;
};

/// The method of a lowered graph. Each node is a kernel call or part of a delegate call, in the
/// graph's order; reshapes are views where their memory may be another's. Sizes come from
/// inputs and are computed once, just before they are needed. Writes of whole inputs are last.
/// Inputs of the names in `buffers`, with fixed sizes, are mutable buffers; they and the outputs
/// that update them are none of the method's. Error{kInternal} where a node is no kernel.
Method emit(const Graph& graph, const std::string& name,
            const std::vector<Partition>& partitions = {},
            const std::set<std::string>& buffers = {});

}  // namespace slipway::executorch

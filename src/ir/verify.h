// Checks that a graph is whole, and that it keeps a contract between two stages.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// One promise about every node of a graph.
struct Check {
  std::string_view name;    ///< "no composites"
  std::string_view reason;  ///< what breaks otherwise, or what to do: ends the message
  bool (*holds)(const Node& node);
};

/// What a graph promises at one point of the flow: a table of checks. Back ends have their own.
struct Contract {
  std::string_view name;
  std::vector<Check> checks;
};

/// Op nodes are `aten::` or `slipway::`: what a front end hands over.
const Contract& aten_contract();
/// Only `aten::` ops are left: composites are gone.
const Contract& core_contract();

/// Checks what every graph must be: operands defined, of this graph and without cycles; arguments
/// that fit the schemas; types equal to what inference gives; names of inputs, weights and outputs
/// unique; weights and constants as large as their types; one pair of bounds per symbol. Throws
/// Error{kInternal} naming the node: a graph that fails was built wrongly by Slipway.
void verify(const Graph& graph);

/// The same, then the contract. All broken checks are in one Error{kInternal}, with counts by op.
void verify(const Graph& graph, const Contract& contract);

}  // namespace slipway

// The arguments of nodes, and the conditions on a program's inputs, in torch's notation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/sizes.h"
#include "base/pytree.h"

namespace slipway::dynamo {

/// A node's arguments by the names of its schema. Trailing ones that are the defaults are left out,
/// as torch does. Ops that make tensors from nothing get their device, so that torch can move them.
/// `names` has the operands; nodes that compute sizes are appended through `sizes`.
std::vector<schema::NamedArgument> named_arguments(const Node& node,
                                                   const std::map<Value, std::string>& names,
                                                   Sizes& sizes);

/// Conditions that ranges and equal symbols do not say: inputs whose sizes are expressions of
/// others. One Python expression each, over L['name'] and its leaves, as torch's own programs have.
std::vector<std::string> guards_code(const Graph& graph, const TreeSpec& in_spec);

}  // namespace slipway::dynamo

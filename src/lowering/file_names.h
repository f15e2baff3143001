// Names of nodes and values in files that name every one of them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ir/graph.h"

namespace slipway::lowering {

/// Unique names for every node and value of a graph, from the module path that made the node:
/// "/model/layers.0/mlp/MatMul", its value the same with "_output_0". Deterministic.
class FileNames {
 public:
  explicit FileNames(const Graph& graph);

  const std::string& of(const Node& node) const { return nodes_.at(&node); }
  const std::string& of(Value value) const { return values_.at(value); }

 private:
  std::string unique(std::string wanted);

  std::map<const Node*, std::string> nodes_;
  std::map<Value, std::string> values_;
  std::set<std::string> taken_;
  std::map<std::string, int64_t> next_;
};

}  // namespace slipway::lowering

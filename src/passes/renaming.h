// Values that stand in for others: many replacements applied in one sweep over a graph.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace slipway {

/// Old value -> new value. A pass that walks Graph::order() calls apply() on each node before it
/// looks at it, and finish() at the end: every replacement then costs O(1), where
/// Graph::replace_all_uses costs the whole graph.
class Renaming {
 public:
  void add(Value from, Value to);
  /// What stands in for the value now; itself when nothing does.
  Value operator()(Value value) const;
  bool empty() const { return renamed_.empty(); }

  /// Renames what a node reads.
  void apply(Node& node) const;
  /// Renames what the graph gives.
  void finish(Graph& graph) const;

 private:
  struct Hash {
    size_t operator()(const Value& v) const {
      return std::hash<const Node*>()(v.node()) * 31 + static_cast<size_t>(v.index());
    }
  };
  std::unordered_map<Value, Value, Hash> renamed_;
};

}  // namespace slipway

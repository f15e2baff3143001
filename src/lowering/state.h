// What lowering remembers across the nodes of a program.
#pragma once

#include <map>
#include <set>
#include <string>

#include "lowering/size_walk.h"

namespace slipway::lowering {

struct State {
  Graph& target;
  std::map<Value, Value> lowered;          ///< source value -> target value
  std::map<std::string, Value> constants;  ///< by dtype, shape and bytes
  std::map<std::string, Value> sizes;      ///< by the text of the expression
  Places places;

  explicit State(Graph& graph) : target(graph) {}

  /// A constant of the target; equal ones are one.
  Value constant(const Tensor& tensor);
  Value scalar(double value, DType dtype);
};

/// Drops the inputs of a lowered graph that nothing reads and that are not among `kept`; `dropped`,
/// where it is given, receives their names.
void drop_unread_inputs(Graph& target, std::vector<std::string>* dropped,
                        const std::set<const Node*>& kept = {});

}  // namespace slipway::lowering

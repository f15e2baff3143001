// Values that stand in for others: many replacements applied in one sweep over a graph.
#include "passes/renaming.h"

namespace slipway {

void Renaming::add(Value from, Value to) {
  SLIPWAY_ASSERT(from.defined() && to.defined() && !(from == to));
  renamed_[from] = (*this)(to);
}

Value Renaming::operator()(Value value) const {
  // A stand-in may have been replaced itself since; chains are as long as a value is replaced.
  for (auto at = renamed_.find(value); at != renamed_.end(); at = renamed_.find(value))
    value = at->second;
  return value;
}

void Renaming::apply(Node& node) const {
  if (empty()) return;
  for (Arg& arg : node.args) {
    if (auto* v = std::get_if<Value>(&arg)) *v = (*this)(*v);
    if (auto* list = std::get_if<std::vector<Value>>(&arg))
      for (Value& v : *list) v = (*this)(v);
  }
}

void Renaming::finish(Graph& graph) const {
  for (Output& output : graph.outputs()) output.value = (*this)(output.value);
}

}  // namespace slipway

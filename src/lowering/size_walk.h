// Computing sizes in a target: where they can be read, and arithmetic on what was read.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace slipway::lowering {

/// An axis of a tensor that has a size.
struct Place {
  Value tensor;
  int64_t axis;
};

/// Where sizes can be read, by the text of the expression; the best place is added first.
class Places {
 public:
  /// The sizes of a value, unless better places are known.
  void add(Value value);
  /// The place of this very expression, or null.
  const Place* find(Sym size) const;
  /// Whether the size itself or each of its symbols has a place.
  bool has(Sym size) const;

 private:
  std::map<std::string, Place> places_;
};

/// The inputs that nodes of the graph read, then the others: the order to add places in.
std::vector<Node*> read_inputs_first(const Graph& graph, const std::vector<Node*>& inputs);

/// Computes a size that is not constant. `target` has `T size(Sym)`, which remembers;
/// `T read_size(const Place&)`; and `T combine_sizes(Sym, T, T)`: the operation of the expression
/// on two of its operands. Each symbol must have a place: lower() refuses other graphs.
template <class T, class Target>
T compute_size(Sym size, const Places& places, Target& target) {
  if (const Place* place = places.find(size)) return target.read_size(*place);
  SLIPWAY_ASSERT(!size.is_symbol());
  T result = target.size(size.args()[0]);
  for (size_t i = 1; i < size.args().size(); ++i) {
    const T next = target.size(size.args()[i]);
    result = target.combine_sizes(size, result, next);
  }
  return result;
}

}  // namespace slipway::lowering

// Computing sizes in a target: where they can be read.
#include "lowering/size_walk.h"

#include <algorithm>

namespace slipway::lowering {

void Places::add(Value value) {
  for (int64_t axis = 0; axis < value.rank(); ++axis)
    if (const Sym size = value.dim(axis); !size.is_const())
      places_.try_emplace(size.str(), Place{value, axis});
}

const Place* Places::find(Sym size) const {
  const auto at = places_.find(size.str());
  return at == places_.end() ? nullptr : &at->second;
}

bool Places::has(Sym size) const {
  if (size.is_const() || find(size) != nullptr) return true;
  const auto symbols = size.symbols();
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](Sym symbol) { return find(symbol) != nullptr; });
}

std::vector<Node*> read_inputs_first(const Graph& graph, const std::vector<Node*>& inputs) {
  const std::vector<Node*> order = graph.order();
  std::vector<Node*> result = inputs;
  std::stable_partition(result.begin(), result.end(), [&](Node* input) {
    return std::find(order.begin(), order.end(), input) != order.end();
  });
  return result;
}

}  // namespace slipway::lowering

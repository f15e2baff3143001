// What lowering remembers across nodes; private to this back end.
#pragma once

#include <map>

#include "backends/executorch/lower.h"

namespace slipway::executorch {

struct LowerState : lowering::State {
  std::map<std::pair<const Node*, Shape>, Value> reshaped;  ///< by target weight and shape

  using State::constant;
  std::map<std::pair<const Node*, int64_t>, Value> entries;  ///< by target weight and place
  std::map<const Node*, Value> turned;                       ///< by target weight

  using State::State;
  Value constant(const Lazy& data) { return State::constant(materialize(*data)); }
  Value weight(const std::string& name, Lazy data) {
    return target.add_weight(name, std::move(data));
  }
};

}  // namespace slipway::executorch

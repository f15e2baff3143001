// What lowering remembers across nodes; private to this back end.
#pragma once

#include <map>

#include "backends/openvino/lower.h"

namespace slipway::openvino {

struct LowerState : lowering::State {
  std::map<std::pair<const Node*, Shape>, Value> reshaped;  ///< by source weight and shape

  using State::constant;
  using State::State;
  /// A stored tensor as what ops read: in the dtype that is computed in.
  Value constant(const Lazy& data);
  /// The same behind a Convert where it is narrower.
  Value weight(const std::string& name, Lazy data);
};

}  // namespace slipway::openvino

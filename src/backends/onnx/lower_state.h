// What lowering remembers across nodes; private to this back end.
#pragma once

#include <map>
#include <set>

#include "backends/onnx/lower.h"

namespace slipway::onnx {

struct LowerState : lowering::State {
  LowerOptions options;
  std::set<const Node*> read_untransposed;  ///< weights that something but a product reads
  std::map<const Node*, Value> transposed;  ///< by source weight
  std::map<std::pair<const Node*, int64_t>, Value> groups;  ///< by source weight and group

  using State::constant;
  Value constant(const Lazy& data) { return State::constant(materialize(*data)); }
  Value weight(const std::string& name, Lazy data) {
    return target.add_weight(name, std::move(data));
  }
};

}  // namespace slipway::onnx

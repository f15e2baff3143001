// What lowering remembers across nodes; private to this back end.
#pragma once

#include <map>

#include "backends/openvino/lower.h"

namespace slipway::openvino {

struct LowerState {
  Graph& target;
  std::map<Value, Value> lowered;                           ///< source value -> target value
  std::map<std::string, Value> constants;                   ///< by dtype, shape and bytes
  std::map<std::string, Value> sizes;                       ///< by the text of the expression
  std::map<std::pair<const Node*, Shape>, Value> reshaped;  ///< by source weight and shape
  /// Where a size can be read: an input's axis, by the text of the expression; the best place
  /// first.
  std::map<std::string, std::pair<Value, int64_t>> places;

  Value constant(const Tensor& tensor);
  /// A stored tensor as what ops read: behind a Convert where it is narrower than what is computed.
  Value weight(const std::string& name, Lazy data);
};

}  // namespace slipway::openvino

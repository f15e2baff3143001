// What lowering remembers across nodes; private to this back end.
#pragma once

#include <map>
#include <set>

#include "backends/onnx/lower.h"

namespace slipway::onnx {

struct LowerState {
  Graph& target;
  LowerOptions options;
  std::map<Value, Value> lowered;           ///< source value -> target value
  std::map<std::string, Value> constants;   ///< by dtype, shape and bytes
  std::map<std::string, Value> sizes;       ///< by the text of the expression
  std::map<const Node*, Value> transposed;  ///< by source weight
  std::set<const Node*> read_untransposed;  ///< weights that something but a product reads
  std::map<std::pair<const Node*, int64_t>, Value> groups;  ///< by source weight and group
  /// Where a size can be read: an input's axis, by the text of the expression; the best place
  /// first.
  std::map<std::string, std::pair<Value, int64_t>> places;

  Value constant(const Tensor& tensor);
};

}  // namespace slipway::onnx

// Tables of ops that XNNPACK computes; private to this back end.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/executorch/xnnpack_lower.h"

namespace slipway::executorch {

/// One row: how a kernel becomes XNNPACK's nodes. `define` gives why it cannot; "" when it did.
struct XnnpackRow {
  std::string_view op;
  std::string (*define)(XnnpackBuilder& b, const Node& node);
};

/// Convolutions and poolings.
std::span<const XnnpackRow> plane_rows();
/// Layers with quantized weights.
std::span<const XnnpackRow> quantized_rows();

/// Whether a value is in the file.
inline bool is_static(Value v) {
  return v.node()->kind == NodeKind::kWeight || v.node()->kind == NodeKind::kConstant;
}

/// The first output of a node.
inline Value result_of(const Node& node) { return Value(const_cast<Node*>(&node), 0); }

}  // namespace slipway::executorch

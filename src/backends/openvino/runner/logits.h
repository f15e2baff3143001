// The logits of the last tokens only, for graphs that give those of all.
#pragma once

#include <string>

#include "backends/openvino/runner/ov.h"

namespace slipway::openvino_runner {

inline constexpr const char* kLogitsToKeep = "logits_to_keep";

/// The product with a weight that a decoder's logits come from, each hidden state by itself; null
/// where there is no such.
ov::Node* logits_product(const ov::Model& model);

/// IR has no inputs that may be left out, so no graph takes this one. A decoder whose logits come
/// from one product with a weight gets it here: an int64 scalar, 0 for all tokens. Only the rows
/// that are kept are multiplied, which saves a fifth of the work for a prompt of SmolLM2 and all of
/// its memory. Returns whether the graph was one.
bool add_logits_to_keep(const std::shared_ptr<ov::Model>& model);

}  // namespace slipway::openvino_runner

// A decoder's graph with OpenVINO's PagedAttention for its attention and states.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/openvino/runner/ov.h"

namespace slipway::openvino_runner {

/// Reads tokens of all rows one after the other, [tokens], and gives the logits of those that its
/// input "logits_indices" (int64, [n]) names: [n, 1, vocabulary].
struct PagedGraph {
  struct Cache {
    std::string state;  ///< the variable of the graph before
    std::string input;  ///< "key_cache.0"
  };
  std::shared_ptr<ov::Model> model;
  bool windows = false;  ///< some layers see a window, counted in tokens that are no padding
  std::vector<Cache> caches;
};

inline constexpr const char* kLogitsIndices = "logits_indices";

/// Of a graph as it was read, which is left as it is. Throws Error{kUnsupported} saying why not:
/// the graph must be a decoder whose file says what its attention hides (attention_kind,
/// backends/openvino/states.h), whose inputs are input_ids,
/// attention_mask, position_ids and beam_idx, whose only output is logits, and whose states are
/// keys and values.
PagedGraph page_attention(const ov::Model& model);

}  // namespace slipway::openvino_runner

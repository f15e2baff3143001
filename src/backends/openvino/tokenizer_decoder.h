// The detokenizer: ids to text.
#pragma once

#include <vector>

#include "backends/openvino/string_graph.h"
#include "backends/openvino/tokenizer_model.h"

namespace slipway::openvino {

/// Adds the whole detokenizer of a tokenizer.json to an empty graph: input int64 [rows, tokens],
/// output `string_output` [rows]. Special tokens give no text. Throws Error{kUnsupported} naming a
/// decoder that has no counterpart.
void add_detokenizer(StringGraph& graph, const Part& tokenizer, const Vocabulary& vocabulary,
                     const std::vector<AddedToken>& added);

}  // namespace slipway::openvino

// A graph with what an exporter needs to know about it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ir/graph.h"

namespace slipway {

/// The inclusive range of an integer input's elements.
struct ValueRange {
  int64_t lo, hi;
};

/// What torch.export calls by this name: a functional graph, its signature in the graph's inputs,
/// weights and outputs, and its constraints in the bounds of the graph's symbols. Input and output
/// names are dotted leaf names ("past_key_values.layers.0.keys"); a name may be both.
struct ExportedProgram {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::string architecture;  ///< the class of the source model: "LlamaForCausalLM"
  std::string output_class;  ///< what the model returns: "transformers.modeling_outputs...."
  DType dtype = DType::kF32;
  /// Ids an embedding can look up, by input. Checked by runners before the runtime sees them.
  std::map<std::string, ValueRange> value_ranges;
  /// Inputs that callers may leave out, and what they are then.
  std::map<std::string, Tensor> input_defaults;
  /// Attention masks that callers make whole, by input: the sliding window that is part of them.
  std::map<std::string, std::optional<int64_t>> mask_windows;
};

}  // namespace slipway

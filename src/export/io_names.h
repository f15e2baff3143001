// The names that graphs give their inputs and outputs.
#pragma once

#include "ir/graph.h"
#include "slipway/configs.h"
#include "slipway/model.h"

namespace slipway {

/// Gives a graph of the model library the names of `names`. kTransformers leaves it as it is.
/// kOptimum renames growing caches, past_key_values.layers.N.keys and .values, to
/// past_key_values.N.key and .value where they are inputs, to present.N.key and .value where they
/// are outputs, and returns logits as float32 whatever the dtype of the graph is.
void apply_io_names(Graph& graph, IoNames names);

/// The same tensors under the names that the inputs of such a graph have.
Inputs with_io_names(const Inputs& inputs, IoNames names);

}  // namespace slipway

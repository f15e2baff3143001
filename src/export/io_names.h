// The names that graphs give their inputs and outputs.
#pragma once

#include "ir/program.h"
#include "slipway/configs.h"
#include "slipway/model.h"

namespace slipway {

/// Gives a program of the model library the names of `names`; kTransformers leaves it as it is.
/// Growing caches, past_key_values.layers.N.keys and .values, become past_key_values.N.key and
/// .value where they are inputs, present.N.key and .value where they are outputs; logits become
/// float32 whatever the dtype of the graph is. kTransformersJs makes logits_to_keep a plain input
/// num_logits_to_keep.
void apply_io_names(ExportedProgram& program, IoNames names);

/// The same tensors under the names that the inputs of such a graph have.
Inputs with_io_names(const Inputs& inputs, IoNames names);

}  // namespace slipway

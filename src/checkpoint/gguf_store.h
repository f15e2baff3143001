// The tensors of a GGUF file as a weight store under Hugging Face names.
#pragma once

#include <memory>

#include "checkpoint/gguf.h"
#include "checkpoint/weight_store.h"

namespace slipway {

/// All tensors as float32, decoded while they are read; llama's q and k rows are put back into the
/// order of Hugging Face. Throws Error{kUnsupported} for an architecture or an encoding that is not
/// supported, Error{kInvalid} that lists the tensors whose names have no place in the model.
std::shared_ptr<const WeightStore> gguf_weights(std::shared_ptr<const GgufFile> file);

}  // namespace slipway

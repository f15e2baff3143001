// Recovers intent: finds the bodies of ops in graphs that were written without them.
#pragma once

#include <span>

#include "passes/rewrite.h"

namespace slipway {

/// One rule per op: rms_norm, layer_norm, silu, gelu, rotary_embedding, attention, causal_mask. The
/// pattern is the op's own body, so a body that changes is still recognized.
std::span<const Rule> raising_rules();

/// Masks and look-ups that were written with ranges of indices (index_range.h).
std::span<const Rule> mask_rules();

/// The ways in which PyTorch model code spells rotary embeddings, grouped attention and caches.
std::span<const Rule> spelling_rules();

/// Applies all of them. Run canonicalize and cse before.
int64_t raise(Graph& graph, PassContext& context);

}  // namespace slipway

// Replaces ops by their bodies.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// Emits the body of an op for these arguments into their graph, under its current scope. Asserts
/// that the op has a body; one value per output of the op.
std::vector<Value> emit_body(const Op& op, std::span<const Arg> args, Graph& graph);

/// Expands every op that has a body and is not kept, again and again until none is left. New nodes
/// have the scope of the node they replace. Returns how many nodes were expanded; they are dropped.
int64_t decompose(Graph& graph, const std::function<bool(const Op&)>& keep);

/// Expands what has the trait kSpelling: front ends run it first, so that graphs have few ops.
int64_t expand_spellings(Graph& graph);

}  // namespace slipway

// The text form of graphs, written; and whether two graphs are equal.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace slipway {

/// The graph as text that parse_graph() reads back to an equal graph. Depends on nothing but the
/// graph's meaning: values are numbered in Graph::order(), never in order of emission. Weights are
/// listed by type only, and constants of more than 16 elements by a digest of their bytes.
///
///   dims: batch_size in 1..8, sequence_length in 1..
///   graph(%input_ids: i64[batch_size, sequence_length]; %embed.weight: f32[128, 32]) {
///     %0: f32[batch_size, sequence_length, 32] = aten::embedding(%embed.weight, %input_ids)
///     %1: f32[] = constant 1.5
///     %2: f32[batch_size, sequence_length, 32] = aten::mul.Tensor(%0, %1)
///     return embeddings=%2
///   }
///
/// User inputs stand before `;`, used weights after it. `dims` names the symbols whose bounds
/// are not `0..`. Trailing arguments equal to their defaults are left out.
std::string print(const Graph& graph);

/// A name in the text form: `logits`, or `"odd name"` in quotes where it is no dotted word.
std::string quoted_name(const std::string& name);

/// "#" and 16 hexadecimal digits for a constant's bytes (or what a parsed text said they were).
std::string digest(const Node& constant);

/// Same inputs, weights, constants, nodes, types and output names. Module paths do not count, nor
/// what the weights hold.
bool equal(const Graph& a, const Graph& b);

/// Where two graphs first differ, in order of printing; nullopt when they are equal.
std::optional<std::string> first_difference(const Graph& a, const Graph& b);

}  // namespace slipway

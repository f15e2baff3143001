// The text form of graphs, read.
#pragma once

#include <memory>
#include <string_view>

#include "ir/graph.h"

namespace slipway {

/// Reads what print() writes: print(parse_graph(print(g))) == print(g), and the graphs are equal.
/// Weights come back as types without data; so do constants that the text gives as a digest only.
///
/// More is accepted, for graphs written by hand: results may have any name; their types may be left
/// out (types that are given must be the inferred ones); without a `return` line the last line's
/// results are the outputs, named `out` or `out.0`, `out.1`, ...
///
/// Safe on hostile text: size, nesting and rank are limited. Throws Error{kInvalid} with line and
/// column, Error{kUnsupported} for an op that has no row.
std::unique_ptr<Graph> parse_graph(std::string_view text);

}  // namespace slipway

// Upper bounds of sizes, for targets that plan memory from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace slipway::lowering {

/// The symbols of a graph's inputs that have no upper bound, each once, sorted by name.
std::vector<Sym> unbounded_symbols(const Graph& graph);

/// Bounds for these symbols where the caller names none: four times the lower bound or the size in
/// the example (by symbol; absent where there is none), whichever is more, but at least a floor.
/// For "batch_size" that is 4. For the others it falls with their number, so that their product
/// stays near 2^22 and arenas near what devices have: 1024 for one or two, 161 for three, 64 from
/// four on.
std::map<std::string, int64_t> default_upper_bounds(const std::vector<Sym>& symbols,
                                                    const std::map<std::string, int64_t>& example);

/// Symbols of the inputs whose bounds leave one size become that number, in types and arguments: a
/// batch of 1 to 1 is 1. Passes and delegates then know it.
void fix_sizes(Graph& graph);

/// Gives symbols these upper bounds wherever the graph has them: types and arguments. A bound below
/// the symbol's lower one is Error{kInvalid}. Symbols of keep_last's results get the bound of what
/// they are kept of.
void set_upper_bounds(Graph& graph, const std::map<std::string, int64_t>& bounds);

}  // namespace slipway::lowering

// Symbolic sizes as values of a serialized graph: read from inputs, then computed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/names.h"
#include "backends/dynamo/schema.h"
#include "ir/graph.h"

namespace slipway::dynamo {

/// The sizes of one serialized graph. Torch has no expressions among arguments: a size that is one
/// needs nodes that read it from an input (aten.sym_size.int) and compute with it (_operator.add).
class Sizes {
 public:
  /// Nodes and values go to `out`, under names that `names` gives. `inputs` are the names of
  /// graph.inputs(), in their order. `example` has the symbols' values in the example call.
  Sizes(const Graph& graph, const std::vector<std::string>& inputs,
        const std::map<std::string, int64_t>& example, Names& names, schema::Graph& out);

  /// An argument that stands for the size; nodes that it needs are appended. Error{kUnsupported}
  /// where no input has the symbol.
  schema::SymIntArgument argument(Sym size);
  /// The size as types state it.
  schema::SymInt value(Sym size) const;
  std::vector<schema::SymInt> values(const SymShape& shape) const;
  /// Appends checks at run time of the bounds that are finite: lo <= symbol, symbol <= hi.
  void assert_bounds(Sym symbol, Sym::Bounds bounds);
  /// The symbols of all inputs, sorted by name.
  const std::vector<Sym>& symbols() const { return symbols_; }

 private:
  struct Place {
    std::string input;
    int64_t axis;
  };

  std::string read(const Place& place, Sym size);
  std::string compute(const char* target, const schema::SymIntArgument& a,
                      const schema::SymIntArgument& b, Sym result);
  schema::SymIntArgument solve(Sym symbol);
  void assert_condition(const char* target, const char* relation, Sym symbol, int64_t bound);

  Names& names_;
  schema::Graph& out_;
  std::map<std::string, Place> places_;       ///< by the text of a size
  std::vector<std::pair<Sym, Place>> sums_;   ///< sizes that are expressions
  std::map<std::string, std::string> known_;  ///< values by the text of a size
  std::map<std::string, int64_t> hints_;
  std::vector<Sym> symbols_;
};

}  // namespace slipway::dynamo

// Imports the nodes of a graph, one after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/import_args.h"
#include "ir/graph.h"

namespace slipway::dynamo {

/// Walks a serialized graph and emits the same computation into ours.
class NodeImporter {
 public:
  NodeImporter(Graph& graph, ImportNames& names) : graph_(graph), names_(names) {}

  /// Throws what import_program does.
  void run(const std::vector<schema::Node>& nodes);

 private:
  void import_node(const schema::Node& node);
  void import_call(const schema::Node& node, const Op& op, bool in_place);
  std::vector<Value> emit(const schema::Node& node, const Op& op, std::vector<Arg>& args);
  /// Gives operands the sizes that the file has for them. False where they have those already.
  bool restate(const schema::Node& node, const Op& op, std::vector<Arg>& args);
  /// Puts the size that torch found in the place of a -1.
  void settle_shape(const schema::Node& node, std::vector<Arg>& args) const;
  /// Gives the operands of an elementwise op or of attention equal sizes: torch's guards saw to it
  /// that they are, and a view fails at run time where they are not. False where nothing differs.
  static bool agree(const Op& op, std::vector<Arg>& args);
  void import_higher_order(const schema::Node& node);
  std::vector<Value> run_subgraph(const schema::Node& node, const schema::GraphArgument& sub,
                                  const std::vector<schema::Argument>& operands);
  std::vector<std::string> output_names(const schema::Node& node) const;

  Graph& graph_;
  ImportNames& names_;
  int depth_ = 0;
};

/// The ops of a graph, sub-graphs included, that nothing here stands for, with how often each is
/// used.
std::map<std::string, int64_t> unknown_ops(const std::vector<schema::Node>& nodes);

}  // namespace slipway::dynamo

// Serialized arguments of a node as arguments of our ops.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/dynamo/import_storage.h"
#include "backends/dynamo/import_symbols.h"
#include "backends/dynamo/schema.h"
#include "ir/op.h"

namespace slipway::dynamo {

/// What the names of a graph stand for while it is imported.
struct ImportNames {
  ImportNames(const schema::Graph& graph, const ImportSymbols& file_symbols);

  ImportStorage tensors;
  std::map<std::string, Sym> sizes;
  std::set<std::string> unknown_sizes;  ///< those that depend on values; only checks may use them
  /// What the file says about the graph's tensors.
  std::map<std::string, const schema::TensorMeta*> metas;
  const ImportSymbols& symbols;

  /// The sizes that the file has for a tensor; nullopt where it has none, or in symbols that no
  /// input binds. torch knew more when it wrote them than follows from the ops: the guards.
  std::optional<SymShape> recorded_shape(const std::string& name) const;
  /// Whether a tensor's elements lie in row-major order, as far as the file says.
  bool recorded_contiguous(const std::string& name) const;
};

/// A size or number argument; Error{kInvalid} for a name that is not one.
Sym import_size(const schema::SymIntArgument& argument, const ImportNames& names);

/// Whether the argument is a number: 2, 0.5, true, a size.
bool is_number(const schema::Argument& argument);

/// The argument of the node under a schema's name, or by position where the file names none; null
/// when it was left to its default.
const schema::Argument* find_argument(const schema::Node& node, const std::string& name);

/// A node's arguments for an op, in the order of the op's schema. Devices, layouts and memory
/// formats say nothing about values and become None. Throws Error{kInvalid} naming the node and the
/// argument where the kinds do not fit, Error{kUnsupported} for complex dtypes.
std::vector<Arg> import_args(const schema::Node& node, const Op& op, ImportNames& names);

/// The name of a tensor argument, or null.
const std::string* tensor_name(const schema::Argument& argument);

/// Throws Error{kInvalid} about a node.
[[noreturn]] void fail_node(const schema::Node& node, const std::string& message);

/// "node 'add_3' (torch.ops.aten.add.Tensor)" for messages.
std::string describe_node(const schema::Node& node);

}  // namespace slipway::dynamo

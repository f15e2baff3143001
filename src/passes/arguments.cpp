// Facts about the arguments of nodes that passes compare.
#include "passes/arguments.h"

#include <algorithm>
#include <optional>

namespace slipway {
namespace {

bool names_axes(const SchemaArg& arg) {
  if (arg.type != ArgType::kInt && arg.type != ArgType::kIntList) return false;
  return arg.name == "dim" || arg.name == "dims" || arg.name == "dim0" || arg.name == "dim1";
}

/// The number of axes that a node's axis arguments choose from.
std::optional<int64_t> axis_rank(const Node& node) {
  const std::vector<Value> read = operands(node);
  if (read.empty()) return std::nullopt;
  const bool inserts = node.op->name() == "aten::unsqueeze";
  return read[0].rank() + (inserts ? 1 : 0);
}

Sym from_front(Sym axis, int64_t rank) {
  return axis.is_const() && axis.value() < 0 ? axis + rank : axis;
}

}  // namespace

bool commutes(const Op& op, std::span<const Arg> args) {
  if (!op.has(kCommutes) || args.size() < 2) return false;
  if (!std::holds_alternative<Value>(args[0]) || !std::holds_alternative<Value>(args[1]))
    return false;
  for (size_t i = 2; i < args.size(); ++i)
    if (args[i] != op.schema.args[i].default_value) return false;
  return true;
}

Arg canonical_arg(const Node& node, size_t i, const Arg& arg) {
  const SchemaArg& schema = node.op->schema.args[i];
  if (!names_axes(schema)) return arg;
  const std::optional<int64_t> rank = axis_rank(node);
  if (!rank) return arg;
  if (const auto* axis = std::get_if<Sym>(&arg)) return from_front(*axis, *rank);

  // Only permute's "dims" has an order; a reduction's "dim" is a set.
  const bool is_set = schema.name == "dim";
  std::vector<Sym> axes;
  if (const auto* list = std::get_if<std::vector<Sym>>(&arg)) axes = *list;
  for (Sym& axis : axes) axis = from_front(axis, *rank);
  if (!is_set) return axes;
  if (axes.empty())
    for (int64_t axis = 0; axis < *rank; ++axis) axes.emplace_back(axis);
  const auto less = [](Sym a, Sym b) {
    if (a.is_const() && b.is_const()) return a.value() < b.value();
    return a.str() < b.str();
  };
  std::sort(axes.begin(), axes.end(), less);
  return axes;
}

}  // namespace slipway

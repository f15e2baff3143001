// Compares two graphs.
#include <fmt/format.h>

#include <cstring>

#include "ir/print.h"

namespace slipway {
namespace {

using Names = std::map<const Node*, size_t>;

std::string label(const Node& node) {
  if (node.kind == NodeKind::kConstant) return "a constant";
  return node.kind == NodeKind::kOp ? node.op->name() : "%" + node.name;
}

bool same_value(Value a, Value b, const Names& in_a, const Names& in_b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.index() == b.index() && in_a.at(a.node()) == in_b.at(b.node());
}

bool same_arg(const Arg& a, const Arg& b, const Names& in_a, const Names& in_b) {
  if (a.index() != b.index()) return false;
  if (const auto* v = std::get_if<Value>(&a)) return same_value(*v, std::get<Value>(b), in_a, in_b);
  if (const auto* list = std::get_if<std::vector<Value>>(&a)) {
    const auto& other = std::get<std::vector<Value>>(b);
    if (list->size() != other.size()) return false;
    for (size_t i = 0; i < list->size(); ++i)
      if (!same_value((*list)[i], other[i], in_a, in_b)) return false;
    return true;
  }
  if (const auto* d = std::get_if<double>(&a))  // NaN equals itself here, 0.0 and -0.0 differ
    return std::memcmp(d, &std::get<double>(b), sizeof(double)) == 0;
  return a == b;
}

bool same_data(const Node& a, const Node& b) {
  if (a.data == nullptr || b.data == nullptr) return digest(a) == digest(b);
  const Tensor x = materialize(*a.data), y = materialize(*b.data);
  return x.nbytes() == y.nbytes() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())) == 0;
}

std::optional<std::string> node_difference(const Node& a, const Node& b, size_t at,
                                           const Names& in_a, const Names& in_b) {
  const auto differ = [&](std::string_view what, const std::string& x, const std::string& y) {
    return fmt::format("node {} ({}): {} {} and {}", at, label(a), what, x, y);
  };
  if (a.kind != b.kind || label(a) != label(b)) return differ("is", label(a), label(b));
  if (a.types.size() != b.types.size())
    return differ("outputs", std::to_string(a.types.size()), std::to_string(b.types.size()));
  for (size_t i = 0; i < a.types.size(); ++i)
    if (a.types[i] != b.types[i])
      return differ("types", to_string(a.types[i]), to_string(b.types[i]));
  if (a.kind == NodeKind::kConstant && !same_data(a, b))
    return differ("constants", digest(a), digest(b));
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!same_arg(a.args[i], b.args[i], in_a, in_b))
      return fmt::format("node {} ({}): argument '{}' differs", at, label(a),
                         a.op->schema.args[i].name);
  return std::nullopt;
}

}  // namespace

bool equal(const Graph& a, const Graph& b) { return !first_difference(a, b); }

std::optional<std::string> first_difference(const Graph& a, const Graph& b) {
  const std::vector<Node*>& inputs = a.inputs();
  if (inputs.size() != b.inputs().size())
    return fmt::format("{} and {} inputs", inputs.size(), b.inputs().size());
  Names in_a, in_b;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (auto found = node_difference(*inputs[i], *b.inputs()[i], i, in_a, in_b)) return found;
  const std::vector<Node*> nodes = a.order(), others = b.order();
  for (size_t i = 0; i < nodes.size(); ++i) in_a[nodes[i]] = i;
  for (size_t i = 0; i < others.size(); ++i) in_b[others[i]] = i;
  for (size_t i = 0; i < std::min(nodes.size(), others.size()); ++i)
    if (auto found = node_difference(*nodes[i], *others[i], i, in_a, in_b)) return found;
  if (nodes.size() != others.size())
    return fmt::format("{} and {} nodes", nodes.size(), others.size());
  if (a.outputs().size() != b.outputs().size())
    return fmt::format("{} and {} outputs", a.outputs().size(), b.outputs().size());
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    const Output &x = a.outputs()[i], &y = b.outputs()[i];
    if (x.name != y.name) return fmt::format("output {}: '{}' and '{}'", i, x.name, y.name);
    if (!same_value(x.value, y.value, in_a, in_b))
      return fmt::format("output '{}' is another value", x.name);
  }
  return std::nullopt;
}

}  // namespace slipway

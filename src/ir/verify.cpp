// Checks that a graph is whole, and that it keeps a contract.
#include "ir/verify.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

namespace slipway {
namespace {

std::string label(const Node& node) {
  switch (node.kind) {
    case NodeKind::kInput:
      return fmt::format("input '{}'", node.name);
    case NodeKind::kWeight:
      return fmt::format("weight '{}'", node.name);
    case NodeKind::kConstant:
      return "a constant";
    case NodeKind::kOp:
      break;
  }
  return node.scope.empty() ? node.op->name()
                            : fmt::format("{} in {}", node.op->name(), node.scope);
}

[[noreturn]] void fail(const std::string& message) {
  throw Error(kInternal, "[verify] " + message);
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (const Node* input : graph_.inputs()) {
      check_leaf(*input);
      name(input_names_, *input);
    }
    for (const Output& output : graph_.outputs()) {
      if (!output.value.defined()) fail(fmt::format("output '{}' is undefined", output.name));
      check_index(output.value, fmt::format("output '{}'", output.name));
      if (!output_names_.insert(output.name).second)
        fail(fmt::format("there are two outputs named '{}'", output.name));
    }
    for (const Node* node : graph_.order()) {
      if (node->graph != &graph_) fail(label(*node) + " belongs to another graph");
      if (node->kind == NodeKind::kOp) check_op(*node);
      else if (node->kind == NodeKind::kInput) check_input(*node);
      else check_leaf(*node);
      if (node->kind == NodeKind::kWeight) name(input_names_, *node);
      placed_.insert(node);
    }
  }

 private:
  static void name(std::set<std::string>& names, const Node& node) {
    if (!names.insert(node.name).second)
      fail(fmt::format("there are two inputs or weights named '{}'", node.name));
  }

  void check_index(Value value, const std::string& user) const {
    const auto count = static_cast<int>(value.node()->types.size());
    if (value.index() < 0 || value.index() >= count)
      fail(fmt::format("{} uses output {} of {}, which has {}", user, value.index(),
                       label(*value.node()), count));
  }

  void check_symbols(Sym size, const Node& node) {
    for (const Sym symbol : size.symbols()) {
      const auto [at, fresh] = symbols_.emplace(symbol.name(), symbol);
      if (!fresh && !(at->second == symbol))
        fail(
            fmt::format("{}: dimension '{}' has two different ranges", label(node), symbol.name()));
    }
  }

  void check_types(const Node& node) {
    for (const ValueType& type : node.types)
      for (const Sym size : type.shape) check_symbols(size, node);
  }

  void check_leaf(const Node& node) {
    if (node.types.size() != 1) fail(label(node) + " must have one type");
    check_types(node);
    if (node.data == nullptr) return;
    const Shape& shape = node.data->shape();
    if (node.data->dtype() != node.types[0].dtype ||
        node.types[0].shape != SymShape(shape.begin(), shape.end()))
      fail(fmt::format("{} holds {}{}, its type is {}", label(node), short_name(node.data->dtype()),
                       slipway::shape_string(shape), to_string(node.types[0])));
  }

  void check_input(const Node& node) const {
    for (const Node* input : graph_.inputs())
      if (input == &node) return;
    fail(label(node) + " is not among the graph's inputs");
  }

  void check_op(const Node& node) {
    if (node.op == nullptr) fail("an op node has no op");
    if (node.args.size() != node.op->schema.args.size())
      fail(fmt::format("{} has {} arguments, need {}", label(node), node.args.size(),
                       node.op->schema.args.size()));
    for (const Value value : operands(node)) {
      if (!value.defined()) fail(label(node) + " uses an undefined value");
      check_index(value, label(node));
      if (placed_.count(value.node()) == 0) fail(label(node) + " depends on itself");
    }
    check_types(node);
    if (node.op->row.infer == nullptr) return;  // the maker stated the types (Graph::emit_as)
    std::vector<ValueType> types;
    try {
      types = node.op->row.infer(node.arguments());
    } catch (const Error& error) {
      fail(fmt::format("{}: {}", label(node), error.what()));
    }
    if (types.size() != node.types.size())
      fail(fmt::format("{} has {} outputs, inference gives {}", label(node), node.types.size(),
                       types.size()));
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i] != node.types[i])
        fail(fmt::format("{} has type {}, inference gives {}", label(node),
                         to_string(node.types[i]), to_string(types[i])));
  }

  const Graph& graph_;
  std::set<const Node*> placed_;
  std::set<std::string> input_names_, output_names_;
  std::map<std::string, Sym> symbols_;
};

bool in(const Node& node, std::string_view space) {
  return node.kind != NodeKind::kOp || node.op->name().starts_with(space);
}

bool is_aten(const Node& node) { return in(node, "aten::"); }

}  // namespace

const Contract& aten_contract() {
  static const Contract contract = {
      "aten",
      {{"only aten:: and slipway:: ops", "target ops come from lowering only",
        [](const Node& node) { return is_aten(node) || in(node, "slipway::"); }}}};
  return contract;
}

const Contract& core_contract() {
  static const Contract contract = {
      "core", {{"only aten:: ops", "run `decompose` over what the back end lacks", is_aten}}};
  return contract;
}

void verify(const Graph& graph) { Verifier(graph).run(); }

void verify(const Graph& graph, const Contract& contract) {
  verify(graph);
  std::string broken;
  const std::vector<Node*> nodes = graph.order();
  for (const Check& check : contract.checks) {
    std::map<std::string, int64_t> counts;
    for (const Node* node : nodes)
      if (!check.holds(*node))
        ++counts[node->kind == NodeKind::kOp ? node->op->name() : label(*node)];
    if (counts.empty()) continue;
    std::string list;
    for (const auto& [op, count] : counts)
      list += fmt::format("{}{} x{}", list.empty() ? "" : ", ", op, count);
    broken +=
        fmt::format("{}{}: {}; {}", broken.empty() ? "" : "\n  ", check.name, list, check.reason);
  }
  if (!broken.empty()) fail(fmt::format("the '{}' contract is broken: {}", contract.name, broken));
}

}  // namespace slipway

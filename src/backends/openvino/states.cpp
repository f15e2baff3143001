// Which inputs and outputs of a graph are one state, kept inside it as a variable.
#include "backends/openvino/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/openvino/lower.h"

namespace slipway::openvino {
namespace {

/// "past_key_values.layers.0" of "past_key_values.layers.0.keys"; empty for plain names.
std::string owner_of(const std::string& leaf) {
  const size_t dot = leaf.rfind('.');
  return dot == std::string::npos ? "" : leaf.substr(0, dot);
}

/// Keys and values of layer N have the names that OpenVINO's own tools look for.
std::string variable_of(const std::string& leaf) {
  constexpr std::string_view kLayers = "past_key_values.layers.";
  const std::string owner = owner_of(leaf), part = leaf.substr(owner.size() + 1);
  if (owner.starts_with(kLayers) && (part == "keys" || part == "values")) {
    const std::string layer = owner.substr(kLayers.size());
    const char* what = part == "keys" ? "key" : "value";
    return fmt::format("past_key_values.{0}.{1}present.{0}.{1}", layer, what);
  }
  return fmt::format("input.{0}output.{0}", leaf);
}

Value output_named(const Graph& graph, const std::string& name) {
  const auto& outputs = graph.outputs();
  const auto at = std::find_if(outputs.begin(), outputs.end(),
                               [&](const Output& output) { return output.name == name; });
  return at == outputs.end() ? Value() : at->value;
}

bool is_op(const Node& node, std::string_view name) {
  return node.kind == NodeKind::kOp && node.op->name() == name;
}

DType stored_as(DType dtype) { return dtype == DType::kI64 ? DType::kI32 : computed_as(dtype); }

}  // namespace

std::vector<State> find_states(const Graph& graph) {
  std::vector<State> states;
  std::set<std::string> owners;  // of tensors
  for (Node* input : graph.inputs()) {
    const Value update = output_named(graph, input->name);
    if (!update.defined() || update == input->out() || owner_of(input->name).empty()) continue;
    const SymShape &before = input->types[0].shape, &after = update.shape();
    if (before.size() != after.size()) continue;
    State state{input, update, variable_of(input->name), stored_as(update.dtype()), before};
    for (size_t axis = 1; axis < before.size(); ++axis)
      if (before[axis] != after[axis]) state.shape[axis] = 0;
    if (!before.empty()) owners.insert(owner_of(input->name));
    states.push_back(std::move(state));
  }
  std::erase_if(states, [&](const State& state) {
    return state.shape.empty() && !owners.contains(owner_of(state.input->name));
  });
  return states;
}

std::string attention_kind(const Graph& graph) {
  std::string kind;
  for (Node* node : graph.order()) {
    if (is_op(*node, "aten::scaled_dot_product_attention")) return "";
    if (!is_op(*node, "slipway::attention")) continue;
    const Args a = node->arguments();
    if (!a.has(3) || a.number(5) > 0) return "";
    Node* made = a.value(3).node();
    if (!is_op(*made, "slipway::causal_mask")) return "";
    const Args mask = made->arguments();
    const Node* padding = mask.value(0).node();
    if (padding->kind != NodeKind::kInput || padding->name != "attention_mask") return "";
    if (mask.has(2)) kind = "sliding_window";
    else if (kind.empty()) kind = "causal";
  }
  return kind;
}

}  // namespace slipway::openvino

// Lowering a whole program: checks, sizes from inputs, the walk over the nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/openvino/lower_state.h"
#include "backends/openvino/states.h"
#include "checkpoint/expr.h"
#include "passes/decompose.h"

namespace slipway::openvino {
namespace {

void refuse_unknown(const Graph& graph) {
  std::map<std::string, int64_t> missing;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp && find_lowering(node->op->name()) == nullptr)
      ++missing[node->op->name()];
  if (missing.empty()) return;
  std::vector<std::string> list;
  for (const auto& [op, count] : missing) list.push_back(fmt::format("{} x{}", op, count));
  throw Error(kUnsupported, fmt::format("[openvino] {} ops have no lowering: {}; add rows to "
                                        "src/backends/openvino/lower_*.cpp",
                                        missing.size(), fmt::join(list, ", ")));
}

/// Notes that the sizes of a value can be read there, unless better places are known.
void add_places(Value value, LowerState& state) {
  for (int64_t axis = 0; axis < value.rank(); ++axis)
    if (const Sym size = value.dim(axis); !size.is_const())
      state.places.try_emplace(size.str(), value, axis);
}

/// Notes where every size of these inputs can be read, inputs that nodes read first.
void find_places(const Graph& source, const std::vector<Node*>& inputs, LowerState& state) {
  const std::vector<Node*> order = source.order();
  for (const bool read : {true, false})
    for (Node* input : inputs) {
      if (read == (std::find(order.begin(), order.end(), input) != order.end()))
        add_places(state.lowered.at(input->out()), state);
    }
}

/// Zeros of the variable's first shape: no positions of a cache that grows. States that begin alike
/// share them: the CPU plug-in would take an own one as the shape of all values to come.
Value initial(Lower& l, const State& state, std::map<std::string, Value>& made) {
  Value& zeros = made[to_string({state.stored, state.shape})];
  if (!zeros.defined()) zeros = l.expand(l.scalar(0.0, state.stored), state.shape);
  return zeros;
}

std::string shape_of_variable(const State& state) {
  std::string text;
  for (size_t axis = 0; axis < state.shape.size(); ++axis) {
    const Sym size = state.shape[axis];
    const bool fixed = size.is_const() && !state.grows(axis) && axis > 0;
    text += (text.empty() ? "" : ",") + (fixed ? size.str() : "?");
  }
  return text;
}

/// A variable begins with sizes that are read elsewhere.
void check_sizes(const State& s, const LowerState& state) {
  for (const Sym size : s.shape)
    for (const Sym symbol : size.symbols())
      if (!state.places.contains(size.str()) && !state.places.contains(symbol.str()))
        throw Error(kUnsupported,
                    fmt::format("[openvino] {} cannot be kept as a variable: its size {} is no "
                                "size of another input; set stateful to false",
                                s.input->name, size.str()));
}

/// Emits what reads each variable: the rows of the last run, in the order that beam_idx gives.
void read_states(const std::vector<State>& states, LowerState& state) {
  if (states.empty()) return;
  Graph& target = state.target;
  Value beam_idx;
  std::map<std::string, Value> made;
  for (const State& s : states) {
    Lower l(state, *s.input);
    check_sizes(s, state);
    const Value zeros = initial(l, s, made);
    const ValueType type{s.stored, s.input->types[0].shape};
    Value read =
        l.typed("ov::ReadValue",
                {zeros, named("variable_id", s.variable_id), named("variable_type", s.stored),
                 named("variable_shape", shape_of_variable(s))},
                type);
    add_places(read, state);
    if (!type.shape.empty()) {
      if (!beam_idx.defined())
        beam_idx = target.add_input("beam_idx", {DType::kI32, {type.shape[0]}});
      read = l.typed("ov::Gather", {read, beam_idx, l.scalar(0, DType::kI64)}, type);
    }
    state.lowered[s.input->out()] = l.cast(read, s.input->types[0].dtype);
  }
}

void lower_node(Node* node, LowerState& state) {
  Lower l(state, *node);
  const LoweringRow& row = *find_lowering(node->op->name());
  const std::vector<Value> values =
      row.lower_all != nullptr ? row.lower_all(l) : std::vector<Value>{row.lower(l)};
  SLIPWAY_ASSERT(values.size() == node->types.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (const ValueType wanted = l.out(i); values[i].type() != wanted)
      throw Error(kInternal, fmt::format("[openvino] {} lowered to {}, need {}", node->op->name(),
                                         to_string(values[i].type()), to_string(wanted)));
    state.lowered[node->out(static_cast<int>(i))] = values[i];
  }
}

void drop_unread_inputs(Graph& target, std::vector<std::string>* dropped) {
  const std::vector<Node*> live = target.order();
  const std::vector<Node*> inputs = target.inputs();
  for (Node* input : inputs) {
    if (std::find(live.begin(), live.end(), input) != live.end()) continue;
    if (dropped != nullptr) dropped->push_back(input->name);
    target.erase_input(input);
  }
  target.drop_dead();
}

}  // namespace

const LoweringRow* find_lowering(std::string_view op) {
  static const auto table = [] {
    std::map<std::string_view, const LoweringRow*> rows;
    for (const LoweringRow* row : all_lowerings()) rows[row->op] = row;
    return rows;
  }();
  const auto at = table.find(op);
  return at == table.end() ? nullptr : at->second;
}

std::vector<const LoweringRow*> all_lowerings() {
  std::vector<const LoweringRow*> rows;
  for (const auto family : {pointwise_rows(), shape_rows(), reduction_rows(), nn_rows(),
                            rounding_rows(), index_rows(), window_rows()})
    for (const LoweringRow& row : family) rows.push_back(&row);
  return rows;
}

std::unique_ptr<Graph> lower(const ExportedProgram& program, const LowerOptions& options,
                             std::vector<std::string>* dropped) {
  register_ops(openvino_ops());
  Graph& source = *program.graph;
  decompose(source, [](const Op& op) { return find_lowering(op.name()) != nullptr; });
  refuse_unknown(source);
  auto target = std::make_unique<Graph>();
  LowerState state{*target, {}, {}, {}, {}, {}};
  const std::vector<State> states =
      options.caches == Caches::kVariables ? find_states(source) : std::vector<State>();
  const auto state_of = [&](const std::string& leaf) {
    return std::find_if(states.begin(), states.end(),
                        [&](const State& s) { return s.input->name == leaf; });
  };
  std::vector<Node*> plain;
  for (Node* input : source.inputs())
    if (state_of(input->name) == states.end()) plain.push_back(input);
  for (Node* input : plain) {
    const ValueType& type = input->types[0];
    state.lowered[input->out()] =
        target->add_input(input->name, {computed_as(type.dtype), type.shape});
  }
  find_places(source, plain, state);
  read_states(states, state);
  for (Node* node : source.order()) {
    const ScopeGuard scope(*target, node->scope);
    switch (node->kind) {
      case NodeKind::kInput:
        break;
      case NodeKind::kWeight:
        state.lowered[node->out()] = state.weight(node->name, node->data);
        break;
      case NodeKind::kConstant:
        state.lowered[node->out()] =
            state.constant(materialize(*lazy_cast(node->data, computed_as(node->data->dtype()))));
        break;
      case NodeKind::kOp:
        lower_node(node, state);
        break;
    }
  }
  for (const Output& output : source.outputs()) {
    const Value value = state.lowered.at(output.value);
    const auto at = state_of(output.name);
    if (at == states.end()) {
      target->add_output(output.name, value);
      continue;
    }
    Lower l(state, *at->input);
    target->add_output(at->variable_id, l("ov::Assign", {l.cast(value, at->stored),
                                                         named("variable_id", at->variable_id)}));
  }
  drop_unread_inputs(*target, dropped);
  return target;
}

}  // namespace slipway::openvino

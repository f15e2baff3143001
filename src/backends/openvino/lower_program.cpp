// Lowering a whole program, its caches as inputs and outputs or as variables.
#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/lower_state.h"
#include "backends/openvino/states.h"
#include "lowering/view_rows.h"

namespace slipway::openvino {
namespace {

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
    if (!state.places.has(size))
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
    state.places.add(read);
    if (!type.shape.empty()) {
      if (!beam_idx.defined())
        beam_idx = target.add_input("beam_idx", {DType::kI32, {type.shape[0]}});
      read = l.typed("ov::Gather", {read, beam_idx, l.scalar(0, DType::kI64)}, type);
    }
    state.lowered[s.input->out()] = l.cast(read, s.input->types[0].dtype);
  }
}

const lowering::Rows<Lower>& rows() {
  static const lowering::Rows<Lower> all = {lowering::ViewRows<Lower>::kRows,
                                            lowering::SizedRows<Lower>::kRows,
                                            pointwise_rows(),
                                            shape_rows(),
                                            reduction_rows(),
                                            nn_rows(),
                                            rounding_rows(),
                                            index_rows(),
                                            window_rows()};
  return all;
}

}  // namespace

const LoweringRow* find_lowering(std::string_view op) { return rows().find(op); }

std::unique_ptr<Graph> lower(const ExportedProgram& program, const LowerOptions& options,
                             std::vector<std::string>* dropped) {
  register_ops(openvino_ops());
  Graph& source = *program.graph;
  lowering::expand_to_rows(source, "openvino",
                           [](const Op& op) { return find_lowering(op.name()) != nullptr; });
  auto target = std::make_unique<Graph>();
  LowerState state(*target);
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
  for (Node* input : lowering::read_inputs_first(source, plain))
    state.places.add(state.lowered.at(input->out()));
  read_states(states, state);
  lowering::lower_nodes(source, rows(), "openvino", state);
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
  lowering::drop_unread_inputs(*target, dropped);
  return target;
}

}  // namespace slipway::openvino

// Lowering a whole program, and which of its inputs are written in place.
#include <fmt/format.h>

#include <set>

#include "backends/executorch/kernels.h"
#include "backends/executorch/lower_state.h"
#include "lowering/view_rows.h"

namespace slipway::executorch {
namespace {

const lowering::Rows<Lower>& rows() {
  static const lowering::Rows<Lower> all = {lowering::ViewRows<Lower>::kRows,
                                            pointwise_rows(),
                                            shape_rows(),
                                            reduction_rows(),
                                            nn_rows(),
                                            rounding_rows(),
                                            index_rows(),
                                            window_rows()};
  return all;
}

/// Forms of ops whose rows know a kernel for other forms only; "" for all that lower.
std::string lacking(const Node& node) {
  const std::string& op = node.op->name();
  const Args a = node.arguments();
  if (op == "aten::scatter_reduce.two" && a.text(4) != "sum")
    return fmt::format("{} (reduce=\"{}\")", op, a.text(4));
  if (op == "aten::pad" && a.text(2) != "constant") {
    const size_t axes = a.syms(1).size() / 2;
    if ((a.text(2) != "reflect" && a.text(2) != "replicate") || axes < 1 || axes > 3)
      return fmt::format("{} (mode=\"{}\" over {} axes)", op, a.text(2), axes);
  }
  if (op == "aten::convolution" && a.type(0).shape.size() > 4)
    return fmt::format("{} (over 3 axes)", op);
  return "";
}

/// How often each value is read, by nodes and as an output.
std::map<Value, int64_t> count_reads(const Graph& graph) {
  std::map<Value, int64_t> reads;
  for (const Node* node : graph.order())
    for (const Value value : operands(*node)) ++reads[value];
  for (const Output& output : graph.outputs()) ++reads[output.value];
  return reads;
}

/// The input as what the output leaves in it. A write of some elements happens in place where
/// nothing else reads what was there; other values are copied in when all has been computed.
Value written(Graph& target, Node* input, Value value, const std::map<Value, int64_t>& reads) {
  Node* node = value.node();
  const bool puts = node->kind == NodeKind::kOp && node->op->name() == "et::index_put.out";
  if (puts && node->arguments().value(0) == input->out() && reads.at(input->out()) == 1 &&
      reads.at(value) >= 1) {
    node->op = &get_op("et::index_put_");
    return value;
  }
  return target.emit("et::copy_", {input->out(), value});
}

void write_in_place(Graph& target) {
  const std::map<Value, int64_t> reads = count_reads(target);
  std::map<std::string, Node*> inputs;
  for (Node* input : target.inputs()) inputs[input->name] = input;
  for (Output& output : target.outputs()) {
    const auto at = inputs.find(output.name);
    if (at == inputs.end() || at->second->out().type() != output.value.type()) continue;
    if (output.value == at->second->out()) continue;
    output.value = written(target, at->second, output.value, reads);
  }
}

/// Inputs that nothing reads but whose sizes something needs, and no input that is read has.
std::set<const Node*> size_givers(const Graph& graph) {
  std::set<std::string> needed, given;
  const auto need = [&](Sym size) {
    for (const Sym symbol : size.symbols()) needed.insert(symbol.name());
  };
  std::set<const Node*> read;
  for (const Node* node : graph.order()) {
    if (node->kind == NodeKind::kInput) read.insert(node);
    for (const Arg& arg : node->args) {
      if (const auto* size = std::get_if<Sym>(&arg)) need(*size);
      if (const auto* sizes = std::get_if<std::vector<Sym>>(&arg))
        for (const Sym size : *sizes) need(size);
    }
  }
  std::set<const Node*> givers;
  for (const Node* input : lowering::read_inputs_first(graph, graph.inputs()))
    for (const Sym size : input->types[0].shape)
      if (size.is_symbol() && given.insert(size.name()).second && needed.contains(size.name()) &&
          !read.contains(input))
        givers.insert(input);
  return givers;
}

}  // namespace

const LoweringRow* find_lowering(std::string_view op) { return rows().find(op); }

std::unique_ptr<Graph> lower(const ExportedProgram& program, std::vector<std::string>* dropped) {
  register_kernels();
  Graph& source = *program.graph;
  lowering::expand_to_rows(
      source, "executorch", [](const Op& op) { return find_lowering(op.name()) != nullptr; },
      lacking);
  auto target = std::make_unique<Graph>();
  LowerState state(*target);
  for (Node* input : source.inputs())
    state.lowered[input->out()] = target->add_input(input->name, input->types[0]);
  lowering::lower_nodes(source, rows(), "executorch", state);
  for (const Output& output : source.outputs())
    target->add_output(output.name, state.lowered.at(output.value));
  lowering::drop_unread_inputs(*target, dropped, size_givers(*target));
  write_in_place(*target);
  return target;
}

}  // namespace slipway::executorch

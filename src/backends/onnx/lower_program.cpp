// Lowering a whole program, and which weights are stored transposed for it.
#include "backends/onnx/lower_state.h"
#include "lowering/view_rows.h"

namespace slipway::onnx {
namespace {

bool is_op(const Node& node, std::string_view name) {
  return node.kind == NodeKind::kOp && node.op->name() == name;
}

/// Matrices of experts turned around for products by group, where nothing else reads them.
bool turns_matrices(const Node& node, const std::set<const Node*>& read_otherwise) {
  if (!is_op(node, "aten::transpose.int") || node.types[0].shape.size() != 3) return false;
  const int64_t a = node.arguments().axis(1, 3), b = node.arguments().axis(2, 3);
  return a != b && a > 0 && b > 0 && read_otherwise.count(&node) == 0;
}

/// Weights read by anything but the right side of a product: a linear one, or one by group.
std::set<const Node*> read_untransposed(const Graph& graph) {
  std::set<const Node*> result;
  const std::vector<Node*> order = graph.order();
  for (const Output& output : graph.outputs()) result.insert(output.value.node());
  // Users first: whether a transposition feeds products only is known before it is looked at.
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node& node = **at;
    const bool linear = is_op(node, "aten::linear"), grouped = is_op(node, "slipway::grouped_mm");
    const bool turning = turns_matrices(node, result);
    const std::vector<Value> reads = operands(node);
    for (size_t i = 0; i < reads.size(); ++i) {
      const Node& read = *reads[i].node();
      const bool product = (i == 1 && (grouped || (linear && read.kind == NodeKind::kWeight))) ||
                           (turning && read.kind == NodeKind::kWeight);
      if (!product) result.insert(&read);
    }
  }
  return result;
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
  register_ops(onnx_ops());
  Graph& source = *program.graph;
  lowering::expand_to_rows(source, "onnx",
                           [](const Op& op) { return find_lowering(op.name()) != nullptr; });
  auto target = std::make_unique<Graph>();
  LowerState state{lowering::State(*target), options, read_untransposed(source), {}, {}};
  for (Node* input : source.inputs())
    state.lowered[input->out()] = target->add_input(input->name, input->types[0]);
  for (Node* input : lowering::read_inputs_first(source, source.inputs()))
    state.places.add(state.lowered.at(input->out()));
  lowering::lower_nodes(source, rows(), "onnx", state);
  for (const Output& output : source.outputs())
    target->add_output(output.name, state.lowered.at(output.value));
  lowering::drop_unread_inputs(*target, dropped);
  return target;
}

}  // namespace slipway::onnx

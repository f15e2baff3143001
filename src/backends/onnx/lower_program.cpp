// Lowering a whole program: checks, sizes from inputs, the walk over the nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/onnx/lower_state.h"
#include "passes/decompose.h"

namespace slipway::onnx {
namespace {

void refuse_unknown(const Graph& graph) {
  std::map<std::string, int64_t> missing;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp && find_lowering(node->op->name()) == nullptr)
      ++missing[node->op->name()];
  if (missing.empty()) return;
  std::vector<std::string> list;
  for (const auto& [op, count] : missing) list.push_back(fmt::format("{} x{}", op, count));
  throw Error(kUnsupported, fmt::format("[onnx] {} ops have no lowering: {}; add rows to "
                                        "src/backends/onnx/lower_*.cpp",
                                        missing.size(), fmt::join(list, ", ")));
}

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

/// Notes where every size of the inputs can be read, inputs that nodes read first.
void find_places(const Graph& source, LowerState& state) {
  const std::vector<Node*> order = source.order();
  for (const bool read : {true, false})
    for (Node* input : source.inputs()) {
      if (read != (std::find(order.begin(), order.end(), input) != order.end())) continue;
      const SymShape& shape = input->types[0].shape;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (!shape[axis].is_const())
          state.places.try_emplace(shape[axis].str(), state.lowered.at(input->out()),
                                   static_cast<int64_t>(axis));
    }
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
  register_ops(onnx_ops());
  Graph& source = *program.graph;
  decompose(source, [](const Op& op) { return find_lowering(op.name()) != nullptr; });
  refuse_unknown(source);
  auto target = std::make_unique<Graph>();
  LowerState state{*target, options, {}, {}, {}, {}, read_untransposed(source), {}, {}};
  for (Node* input : source.inputs())
    state.lowered[input->out()] = target->add_input(input->name, input->types[0]);
  find_places(source, state);
  for (Node* node : source.order()) {
    const ScopeGuard scope(*target, node->scope);
    switch (node->kind) {
      case NodeKind::kInput:
        break;
      case NodeKind::kWeight:
        state.lowered[node->out()] = target->add_weight(node->name, node->data);
        break;
      case NodeKind::kConstant:
        state.lowered[node->out()] = state.constant(materialize(*node->data));
        break;
      case NodeKind::kOp: {
        Lower l(state, *node);
        const LoweringRow& row = *find_lowering(node->op->name());
        const std::vector<Value> values =
            row.lower_all != nullptr ? row.lower_all(l) : std::vector<Value>{row.lower(l)};
        SLIPWAY_ASSERT(values.size() == node->types.size());
        for (size_t i = 0; i < values.size(); ++i) {
          if (values[i].type() != node->types[i])
            throw Error(kInternal,
                        fmt::format("[onnx] {} lowered to {}, need {}", node->op->name(),
                                    to_string(values[i].type()), to_string(node->types[i])));
          state.lowered[node->out(static_cast<int>(i))] = values[i];
        }
        break;
      }
    }
  }
  for (const Output& output : source.outputs())
    target->add_output(output.name, state.lowered.at(output.value));
  const std::vector<Node*> live = target->order();
  const std::vector<Node*> inputs = target->inputs();
  for (Node* input : inputs) {
    if (std::find(live.begin(), live.end(), input) != live.end()) continue;
    if (dropped != nullptr) dropped->push_back(input->name);
    target->erase_input(input);
  }
  target->drop_dead();
  return target;
}

}  // namespace slipway::onnx

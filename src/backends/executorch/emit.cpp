// From a graph of kernels to a method.
#include "backends/executorch/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/executorch/emit_values.h"
#include "backends/executorch/kernels.h"

namespace slipway::executorch {
namespace {

bool is_op(const Node& node, std::string_view name) {
  return node.kind == NodeKind::kOp && node.op->name() == name;
}

/// Walks the graph once; what a node needs is emitted before it.
class Emitter {
 public:
  Emitter(const Graph& graph, const std::string& name, const std::vector<Partition>& partitions,
          const std::set<std::string>& buffers)
      : graph_(graph), partitions_(partitions), buffers_(buffers), values_(name) {
    for (size_t i = 0; i < partitions.size(); ++i)
      for (const Node* node : partitions[i].nodes) partition_of_[node] = i;
    for (const Output& output : graph.outputs()) output_values_.insert(output.value);
  }

  Method run() {
    for (Node* input : graph_.inputs()) {
      if (buffers_.contains(input->name)) {
        values_.add_buffer(*input);
        continue;
      }
      const ValueId id = values_.add_tensor(input->out());
      values_.method().inputs.push_back(id);
      values_.method().input_names.push_back(input->name);
    }
    for (Node* input : lowering::read_inputs_first(graph_, graph_.inputs()))
      values_.add_places(input->out());
    for (Node* node : graph_.order())
      if (!is_op(*node, "et::copy_")) emit(node);
    for (Node* node : graph_.order())
      if (is_op(*node, "et::copy_")) emit(node);
    std::set<ValueId> given;
    for (const Output& output : graph_.outputs()) {
      ValueId id = values_.of(output.value);
      if (buffers_.contains(output.name)) {
        SLIPWAY_ASSERT(!must_be_copied(output));
        continue;
      }
      if (must_be_copied(output) || given.contains(id)) id = values_.copy(output.value);
      given.insert(id);
      values_.method().outputs.push_back(id);
      values_.method().output_names.push_back(output.name);
    }
    return std::move(values_.method());
  }

 private:
  /// Inputs that come back under another name, constants: outputs have memory of their own.
  bool must_be_copied(const Output& output) const {
    const Node& node = *output.value.node();
    if (node.kind == NodeKind::kOp)
      return writes_in_place(*node.op) && input_of(node).name != output.name;
    return node.kind != NodeKind::kInput || node.name != output.name;
  }
  static const Node& input_of(const Node& node) { return *node.arguments().value(0).node(); }

  void emit(Node* node) {
    if (node->kind == NodeKind::kInput || !emitted_.insert(node).second) return;
    if (node->kind != NodeKind::kOp) {
      values_.add_constant(node->out());
      return;
    }
    if (const auto at = partition_of_.find(node); at != partition_of_.end()) {
      emit_delegate(partitions_[at->second]);
      return;
    }
    for (const Value value : operands(*node)) emit(value.node());
    if (writes_in_place(*node->op)) {
      values_.call_in_place(*node);
    } else if (is_op(*node, "et::slice_last")) {
      values_.slice_last(*node);
    } else if (is_op(*node, "et::view_copy.out") && !output_values_.contains(node->out()) &&
               values_.can_view(*node)) {
      values_.view(*node);
    } else {
      values_.call(*node);
    }
  }

  void emit_delegate(const Partition& partition) {
    for (Node* node : partition.nodes) emitted_.insert(node);
    DelegateCall call;
    for (const Value value : partition.inputs) {
      emit(value.node());
      call.args.push_back(values_.of(value));
    }
    for (const Value value : partition.outputs) call.args.push_back(values_.add_tensor(value));
    Method& method = values_.method();
    call.delegate = static_cast<int32_t>(method.delegates.size());
    method.delegates.push_back(partition.delegate);
    method.instructions.emplace_back(std::move(call));
  }

  const Graph& graph_;
  const std::vector<Partition>& partitions_;
  const std::set<std::string>& buffers_;
  MethodValues values_;
  std::map<const Node*, size_t> partition_of_;
  std::set<Value> output_values_;
  std::set<const Node*> emitted_;
};

}  // namespace

Method emit(const Graph& graph, const std::string& name, const std::vector<Partition>& partitions,
            const std::set<std::string>& buffers) {
  return Emitter(graph, name, partitions, buffers).run();
}

}  // namespace slipway::executorch

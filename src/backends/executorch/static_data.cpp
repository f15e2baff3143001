// Moves static data of delegates to their methods.
#include "backends/executorch/static_data.h"

#include <set>

namespace slipway::executorch {
namespace {

using xnnpack::Graph;
using xnnpack::Node;
using xnnpack::NodeKind;
using xnnpack::Value;

/// Filter and bias: XNNPACK packs them when the graph is loaded.
bool packs(const Node& node, size_t input) {
  const bool layer = node.kind == NodeKind::kFullyConnected || node.kind == NodeKind::kConv2d ||
                     node.kind == NodeKind::kDepthwiseConv2d ||
                     node.kind == NodeKind::kConvTranspose2d;
  return layer && input > 0;
}

/// Static values that nodes read while they run, in the order of values.
std::set<xnnpack::ValueId> read_values(const Graph& graph) {
  std::set<xnnpack::ValueId> read;
  for (const Node& node : graph.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const xnnpack::ValueId id = node.inputs[i];
      if (id == xnnpack::kNoValue || packs(node, i)) continue;
      const Value& value = graph.values[id];
      if (value.data && std::holds_alternative<std::monostate>(value.quantization)) read.insert(id);
    }
  return read;
}

/// Values that a method uses, also by way of lists and views.
class Used {
 public:
  explicit Used(const Method& method) : method_(method), used_(method.values.size()) {
    for (const auto* list : {&method.inputs, &method.outputs})
      for (const ValueId id : *list) add(id);
    for (const Instruction& instruction : method.instructions)
      std::visit([this](const auto& call) { add_all(call); }, instruction);
  }
  bool operator[](size_t id) const { return used_[id]; }

 private:
  void add(ValueId id) {
    const auto at = static_cast<size_t>(id);
    if (used_[at]) return;
    used_[at] = true;
    const EValue& value = method_.values[at];
    if (const auto* tensor = std::get_if<TensorValue>(&value); tensor && tensor->view_of)
      add(*tensor->view_of);
    if (const auto* list = std::get_if<TensorListValue>(&value))
      for (const ValueId item : list->items) add(item);
    if (const auto* some = std::get_if<OptionalTensorListValue>(&value))
      for (const ValueId item : some->items) add(item);
  }
  void add_all(const KernelCall& call) {
    for (const ValueId id : call.args) add(id);
  }
  void add_all(const DelegateCall& call) {
    for (const ValueId id : call.args) add(id);
  }
  void add_all(const MoveCall& call) { add(call.from), add(call.to); }
  void add_all(const JumpFalseCall& call) { add(call.condition); }
  void add_all(const FreeCall& call) { add(call.value); }

  const Method& method_;
  std::vector<bool> used_;
};

}  // namespace

void drop_unused_data(Method& method) {
  const Used used(method);
  for (size_t i = 0; i < method.values.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (tensor && tensor->storage != Storage::kPlanned && !used[i]) method.values[i] = NoneValue{};
  }
}

void pass_static_data(Method& method) {
  for (size_t i = 0; i < method.delegates.size(); ++i) {
    Graph& graph = method.delegates[i].graph;
    std::vector<ValueId> constants;
    const size_t inputs = graph.inputs.size();
    for (const xnnpack::ValueId id : read_values(graph)) {
      if (graph.inputs.size() + graph.outputs.size() >= xnnpack::kMaxExternals) break;
      Value& value = graph.values[id];
      constants.push_back(method.add(TensorValue{.dtype = value.data->dtype(),
                                                 .shape = value.shape,
                                                 .storage = Storage::kConstant,
                                                 .data = std::move(value.data)}));
      value.data = nullptr;
      graph.inputs.push_back(id);
    }
    for (Instruction& instruction : method.instructions) {
      auto* call = std::get_if<DelegateCall>(&instruction);
      if (call && static_cast<size_t>(call->delegate) == i)
        call->args.insert(call->args.begin() + static_cast<std::ptrdiff_t>(inputs),
                          constants.begin(), constants.end());
    }
  }
}

}  // namespace slipway::executorch

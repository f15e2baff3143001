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

}  // namespace

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

// Names of nodes and values in an OpenVINO file.
#include "backends/openvino/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/write.h"

namespace slipway::openvino {
namespace {

bool is_output(const Graph& graph, const std::string& leaf) {
  const auto& outputs = graph.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Output& o) { return o.name == leaf; });
}

bool is_input(const Graph& graph, const std::string& leaf) {
  const auto& inputs = graph.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](const Node* n) { return n->name == leaf; });
}

}  // namespace

std::string input_name(const Graph& graph, const std::string& leaf) {
  return is_output(graph, leaf) ? "input." + leaf : leaf;
}

std::string output_name(const Graph& graph, const std::string& leaf) {
  return is_input(graph, leaf) ? "output." + leaf : leaf;
}

Names::Names(const Graph& graph) {
  for (Node* input : graph.inputs()) values_[input->out()] = unique(input_name(graph, input->name));
  for (const Output& output : graph.outputs()) {
    const std::string name = output_name(graph, output.name);
    taken_.insert(name);
    if (output.value.node()->kind == NodeKind::kOp) values_.try_emplace(output.value, name);
  }
  for (Node* node : graph.order()) {
    switch (node->kind) {
      case NodeKind::kInput:
        break;
      case NodeKind::kWeight:
        values_[node->out()] = unique(node->name);
        break;
      case NodeKind::kConstant:
        values_[node->out()] = unique("constant");
        break;
      case NodeKind::kOp: {
        std::string path = node->scope;
        for (size_t dot; (dot = path.find('.')) != std::string::npos;) {
          const bool index =
              dot + 1 < path.size() && std::isdigit(static_cast<unsigned char>(path[dot + 1]));
          path[dot] = index ? '\x01' : '/';
        }
        std::replace(path.begin(), path.end(), '\x01', '.');
        const std::string& op = node->op->name();
        const std::string kind = op.substr(op.find("::") + 2);
        const std::string name =
            unique(path.empty() ? "/" + kind : fmt::format("/{}/{}", path, kind));
        nodes_[node] = name;
        for (size_t i = 0; i < node->types.size(); ++i) {
          const Value value = node->out(static_cast<int>(i));
          if (values_.find(value) == values_.end())
            values_[value] = unique(fmt::format("{}_output_{}", name, i));
        }
        break;
      }
    }
  }
}

std::string Names::unique(std::string wanted) {
  if (taken_.insert(wanted).second) return wanted;
  for (int64_t& n = next_[wanted];;) {
    std::string candidate = fmt::format("{}_{}", wanted, ++n);
    if (taken_.insert(candidate).second) return candidate;
  }
}

}  // namespace slipway::openvino

// Names of nodes and values in files that name every one of them.
#include "lowering/file_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/leaf_names.h"

namespace slipway::lowering {
namespace {

/// "/model/layers.0/mlp" of "model.layers.0.mlp": a number stays with its list.
std::string path_of(std::string scope) {
  for (size_t dot; (dot = scope.find('.')) != std::string::npos;) {
    const bool index =
        dot + 1 < scope.size() && std::isdigit(static_cast<unsigned char>(scope[dot + 1]));
    scope[dot] = index ? '\x01' : '/';
  }
  std::replace(scope.begin(), scope.end(), '\x01', '.');
  return scope.empty() ? "" : "/" + scope;
}

}  // namespace

FileNames::FileNames(const Graph& graph) {
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
        const std::string& op = node->op->name();
        const std::string name = unique(path_of(node->scope) + "/" + op.substr(op.find("::") + 2));
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

std::string FileNames::unique(std::string wanted) {
  if (taken_.insert(wanted).second) return wanted;
  for (int64_t& n = next_[wanted];;) {
    std::string candidate = fmt::format("{}_{}", wanted, ++n);
    if (taken_.insert(candidate).second) return candidate;
  }
}

}  // namespace slipway::lowering

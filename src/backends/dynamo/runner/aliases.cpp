// Which inputs of a graph its nodes write to.
#include <algorithm>
#include <map>

#include "backends/dynamo/runner/compile.h"
#include "backends/dynamo/runner/ops.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;
using Roots = std::set<std::string>;  ///< graph inputs that a value may be a view of

/// The tensors among an argument.
std::vector<std::string> tensors_of(const schema::Argument& argument) {
  std::vector<std::string> names;
  if (const auto* tensor = argument.get<schema::TensorArgument>()) names.push_back(tensor->name);
  if (const auto* tensors = argument.get<std::vector<schema::TensorArgument>>())
    for (const auto& tensor : *tensors) names.push_back(tensor.name);
  const auto add = [&](const schema::OptionalTensorArgument& optional) {
    if (const auto* tensor = std::get_if<schema::TensorArgument>(&optional.value))
      names.push_back(tensor->name);
  };
  if (const auto* optional = argument.get<schema::OptionalTensorArgument>()) add(*optional);
  if (const auto* optionals = argument.get<std::vector<schema::OptionalTensorArgument>>())
    for (const auto& optional : *optionals) add(optional);
  return names;
}

}  // namespace

std::set<std::string> written_inputs(const schema::Graph& graph) {
  std::map<std::string, Roots> views;
  Roots written;
  for (const schema::Argument& input : graph.inputs)
    for (const std::string& name : tensors_of(input)) views[name] = {name};
  const auto roots_of = [&](const schema::Argument& argument) {
    Roots roots;
    for (const std::string& name : tensors_of(argument))
      if (const auto at = views.find(name); at != views.end())
        roots.insert(at->second.begin(), at->second.end());
    return roots;
  };
  for (const schema::Node& node : graph.nodes) {
    const auto op = find_op(node.target);
    if (!op) continue;
    const bool undeclared = may_return_operand(node.target);
    Roots viewed;
    for (const c10::Argument& argument : op->schema().arguments()) {
      const auto given =
          std::find_if(node.inputs.begin(), node.inputs.end(),
                       [&](const auto& input) { return input.name == argument.name(); });
      if (given == node.inputs.end()) continue;
      const auto* alias = argument.alias_info();
      if (alias == nullptr && !undeclared) continue;
      Roots roots = roots_of(given->arg);
      if (alias != nullptr && alias->isWrite()) written.insert(roots.begin(), roots.end());
      viewed.merge(roots);
    }
    if (viewed.empty()) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto& returns = op->schema().returns();
      if (!undeclared && (i >= returns.size() || returns[i].alias_info() == nullptr)) continue;
      for (const std::string& name : tensors_of(node.outputs[i])) views[name] = viewed;
    }
  }
  return written;
}

}  // namespace slipway::dynamo_runner

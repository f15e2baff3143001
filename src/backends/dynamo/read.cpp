// Reads a .pt2 file's outline.
#include "backends/dynamo/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "backends/dynamo/contract.h"
#include "backends/dynamo/program_file.h"

namespace slipway::dynamo {
namespace {

/// "aten::add.Tensor" of "torch.ops.aten.add.Tensor"; other targets as they are.
std::string op_name(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.", kDefault = ".default";
  if (!target.starts_with(kPrefix)) return std::string(target);
  target.remove_prefix(kPrefix.size());
  if (target.ends_with(kDefault)) target.remove_suffix(kDefault.size());
  const size_t dot = target.find('.');
  if (dot == target.npos) return std::string(target);
  return fmt::format("{}::{}", target.substr(0, dot), target.substr(dot + 1));
}

/// ATen's way to say that an op writes to its first argument: "copy_", "index_put_".
bool writes(std::string_view name) {
  name = name.substr(0, name.find('.'));
  return name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__");
}

/// The graph inputs that an op writes to, itself or through a view that says so in its name. The
/// runner knows every view from libtorch's declarations; this is enough to name the outputs.
std::set<std::string> written_inputs(const schema::Graph& graph) {
  constexpr std::string_view kViews[] = {
      "aten::alias",     "aten::detach",  "aten::view",      "aten::slice",   "aten::select",
      "aten::transpose", "aten::permute", "aten::unsqueeze", "aten::squeeze", "aten::narrow",
      "aten::expand",    "aten::t",       "aten::as_strided"};
  std::map<std::string, std::string> root;
  std::set<std::string> written;
  for (const schema::Argument& input : graph.inputs)
    if (const auto* tensor = input.get<schema::TensorArgument>()) root[tensor->name] = tensor->name;
  for (const schema::Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    const auto* first = node.inputs[0].arg.get<schema::TensorArgument>();
    const auto at = first != nullptr ? root.find(first->name) : root.end();
    if (at == root.end()) continue;
    const std::string op = op_name(node.target);
    const bool view = std::find(std::begin(kViews), std::end(kViews),
                                std::string_view(op).substr(0, op.find('.'))) != std::end(kViews);
    if (!view && !writes(op)) continue;
    if (!view) written.insert(at->second);
    for (const schema::Argument& output : node.outputs)
      if (const auto* tensor = output.get<schema::TensorArgument>())
        root[tensor->name] = at->second;
  }
  return written;
}

std::vector<FileValue> values_of(const std::vector<Port>& ports) {
  std::vector<FileValue> values;
  for (const Port& port : ports) {
    FileValue value{port.name, port.dtype, {}, false};
    for (const auto& dim : port.dims) value.dims.push_back(dim ? dim->str() : "?");
    values.push_back(std::move(value));
  }
  return values;
}

/// "linear = aten::linear(view, p_weight, p_bias)"; numbers and the like are left out.
std::string line_of(const schema::Node& node, const std::string& op) {
  const auto names = [](const schema::Argument& argument) {
    std::string text;
    const auto add = [&text](const std::string& name) {
      text += (text.empty() ? "" : ", ") + name;
    };
    if (const auto* tensor = argument.get<schema::TensorArgument>()) add(tensor->name);
    if (const auto* tensors = argument.get<std::vector<schema::TensorArgument>>())
      for (const auto& tensor : *tensors) add(tensor.name);
    if (const auto* size = argument.get<schema::SymIntArgument>())
      if (const auto* name = std::get_if<schema::Name>(&size->value)) add(name->value);
    return text;
  };
  std::string results, operands;
  for (const schema::Argument& output : node.outputs)
    results += (results.empty() ? "" : ", ") + names(output);
  for (const schema::NamedArgument& input : node.inputs)
    if (const std::string text = names(input.arg); !text.empty())
      operands += (operands.empty() ? "" : ", ") + text;
  return fmt::format("{} = {}({})\n", results, op, operands);
}

}  // namespace

FileSummary read_summary(const std::filesystem::path& path) {
  const ProgramFile file = ProgramFile::open(path);
  const schema::Graph& graph = file.program.graph_module.graph;
  const Contract contract =
      read_contract(file.program, written_inputs(graph), path.filename().string());
  FileSummary summary;
  summary.ir_version = file.program.schema_version.major;
  for (const auto& [domain, version] : file.program.opset_version) summary.opsets[domain] = version;
  summary.producer = "torch " + file.program.torch_version;
  summary.inputs = values_of(contract.inputs);
  summary.outputs = values_of(contract.outputs);
  summary.initializers = static_cast<int64_t>(contract.weights.size());
  for (const schema::Node& node : graph.nodes) {
    const std::string op = op_name(node.target);
    ++summary.op_counts[op];
    summary.listing += line_of(node, op);
  }
  return summary;
}

}  // namespace slipway::dynamo

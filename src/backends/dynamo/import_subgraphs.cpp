// Nodes that hold graphs: torch.cond, and the contexts that only switch something.
#include <fmt/format.h>

#include "backends/dynamo/import_nodes.h"
#include "base/json.h"
#include "ir/build.h"

namespace slipway::dynamo {
namespace {

constexpr int kMaxDepth = 16;

}  // namespace

void NodeImporter::import_higher_order(const schema::Node& node) {
  std::vector<schema::Argument> operands;
  std::vector<const schema::GraphArgument*> graphs;
  for (const schema::NamedArgument& input : node.inputs) {
    if (const auto* sub = input.arg.get<schema::GraphArgument>()) {
      graphs.push_back(sub);
    } else if (const auto* list = input.arg.get<std::vector<schema::TensorArgument>>()) {
      for (const schema::TensorArgument& item : *list) operands.push_back({item});
    } else {
      operands.push_back(input.arg);
    }
  }
  std::vector<Value> results;
  if (node.target == "torch.ops.higher_order.cond" && graphs.size() == 2 && !operands.empty()) {
    const std::vector<schema::Argument> inputs(operands.begin() + 1, operands.end());
    const std::string* flag = tensor_name(operands[0]);
    if (flag == nullptr)
      throw Error(kUnsupported,
                  fmt::format("[pt2] {}: its condition is about sizes; one of a tensor's value is "
                              "supported",
                              describe_node(node)));
    const Value condition = to(names_.tensors.read(*flag), DType::kBool);
    const std::vector<Value> yes = run_subgraph(node, *graphs[0], inputs),
                             no = run_subgraph(node, *graphs[1], inputs);
    if (yes.size() != no.size())
      fail_node(node, "its branches return different numbers of tensors");
    // Both branches are computed, which costs time and changes no number: they have no effects.
    for (size_t i = 0; i < yes.size(); ++i) results.push_back(where(condition, yes[i], no[i]));
  } else if (node.target.starts_with("torch.ops.higher_order.wrap_with_") && graphs.size() == 1) {
    // What comes before the graph are the switches of the context.
    const auto count = graphs[0]->graph == nullptr ? 0 : graphs[0]->graph->inputs.size();
    if (count > operands.size()) fail_node(node, "its sub-graph has more inputs than it is given");
    results = run_subgraph(node, *graphs[0],
                           {operands.end() - static_cast<int64_t>(count), operands.end()});
  } else {
    throw Error(kUnsupported, fmt::format("[pt2] {} has no counterpart: unroll the loop in the "
                                          "model, or write it with tensor ops",
                                          describe_node(node)));
  }
  const std::vector<std::string> outputs = output_names(node);
  if (outputs.size() != results.size())
    fail_node(node, fmt::format("its sub-graph returns {} tensors, the node has {} outputs",
                                results.size(), outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) names_.tensors.define(outputs[i], results[i]);
}

std::vector<Value> NodeImporter::run_subgraph(const schema::Node& node,
                                              const schema::GraphArgument& sub,
                                              const std::vector<schema::Argument>& operands) {
  if (sub.graph == nullptr || depth_ >= kMaxDepth)
    fail_node(node, fmt::format("need sub-graphs, nested at most {} deep", kMaxDepth));
  if (sub.graph->inputs.size() != operands.size())
    fail_node(node, fmt::format("its sub-graph takes {} inputs, it is given {}",
                                sub.graph->inputs.size(), operands.size()));
  ImportNames inner(*sub.graph, names_.symbols);
  for (size_t i = 0; i < operands.size(); ++i) {
    const schema::Argument& input = sub.graph->inputs[i];
    const std::string* given = tensor_name(operands[i]);
    const std::string* name = tensor_name(input);
    if (given != nullptr && name != nullptr) {
      inner.tensors.define(*name, names_.tensors.read(*given));
    } else if (const auto* size = operands[i].get<schema::SymIntArgument>()) {
      const auto* inner_name = input.get<schema::SymIntArgument>();
      const auto* word =
          inner_name == nullptr ? nullptr : std::get_if<schema::Name>(&inner_name->value);
      if (word == nullptr) fail_node(node, "a size is given for what is no size in its sub-graph");
      inner.sizes.emplace(word->value, import_size(*size, names_));
    } else if (name != nullptr) {
      fail_node(node, fmt::format("its sub-graph needs a tensor for {}", quote(*name)));
    }
  }
  NodeImporter importer(graph_, inner);
  importer.depth_ = depth_ + 1;
  importer.run(sub.graph->nodes);
  for (size_t i = 0; i < operands.size(); ++i)
    if (const std::string* name = tensor_name(sub.graph->inputs[i]);
        name && inner.tensors.written(*name))
      throw Error(kUnsupported, fmt::format("[pt2] {}: its sub-graph writes to its input {}",
                                            describe_node(node), quote(*name)));
  std::vector<Value> results;
  for (const schema::Argument& output : sub.graph->outputs) {
    const std::string* name = tensor_name(output);
    if (name == nullptr) fail_node(node, "its sub-graph returns what is no tensor");
    results.push_back(inner.tensors.read(*name));
  }
  return results;
}

}  // namespace slipway::dynamo

// Names of a method's inputs and outputs, out of the tree specs that exporters store.
#include <set>

#include "backends/executorch/read_parts.h"
#include "base/pytree.h"

namespace slipway::executorch {
namespace {

using Names = std::vector<std::string>;

/// Empty where the spec says nothing.
template <class NamesOf>
Names names_of(std::string_view spec, NamesOf read) {
  if (spec.empty()) return {};
  try {
    Names names = read(parse_tree_spec(spec, "the program's tree spec"));
    const std::set<std::string> different(names.begin(), names.end());
    if (different.size() == names.size() && !different.contains("")) return names;
  } catch (const Error&) {
    // Positional arguments, or classes that are not known: there are no names to find.
  }
  return {};
}

Names output_names(const TreeSpec& spec) {
  // A plain tuple's leaves would be named by numbers only.
  if (spec.type == "builtins.tuple" || spec.is_leaf()) return {};
  return leaf_names(spec, "the tree spec");
}

void number(const char* what, std::vector<Port>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) ports[i].name = fmt::format("{}_{}", what, i);
}

}  // namespace

void name_by_specs(MethodOutline& method, std::string_view in_spec, std::string_view out_spec) {
  if (method.named) return;
  const Names inputs =
      names_of(in_spec, [](const TreeSpec& spec) { return input_leaf_names(spec, "the spec"); });
  if (inputs.size() == method.inputs.size())
    for (size_t i = 0; i < inputs.size(); ++i) method.inputs[i].name = inputs[i];
  std::set<std::string> taken;
  size_t updated = 0;
  for (Port& output : method.outputs)
    for (const Port& input : method.inputs)
      if (input.value == output.value && taken.insert(input.name).second) {
        output.name = input.name;
        ++updated;
      }
  const Names outputs = names_of(out_spec, output_names);
  if (outputs.size() > method.outputs.size()) return;
  // Updated inputs come first. A spec with a class that is not known leaves its values out.
  const size_t first = method.outputs.size() - outputs.size();
  if (first != updated) return;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (taken.insert(outputs[i]).second) method.outputs[first + i].name = outputs[i];
}

void reading::name_ports(const fb::ExecutionPlan& plan, MethodOutline& method) {
  number("input", method.inputs);
  number("output", method.outputs);
  const auto text = [](const flatbuffers::String* spec) {
    return spec ? spec->string_view() : std::string_view();
  };
  const auto* specs = plan.container_meta_type();
  name_by_specs(method, text(specs ? specs->encoded_inp_str() : nullptr),
                text(specs ? specs->encoded_out_str() : nullptr));
}

}  // namespace slipway::executorch

// Names of a method's inputs and outputs, out of the tree specs that exporters store.
#include <set>

#include "backends/executorch/read_parts.h"
#include "base/pytree.h"

namespace slipway::executorch::reading {
namespace {

using Names = std::vector<std::string>;

/// Empty where the spec says nothing that names every port.
template <class NamesOf>
Names names_of(const flatbuffers::String* spec, size_t ports, NamesOf read) {
  if (!spec || spec->size() == 0) return {};
  try {
    Names names = read(parse_tree_spec(spec->string_view(), "the program's tree spec"));
    const std::set<std::string> different(names.begin(), names.end());
    if (names.size() == ports && different.size() == ports && !different.contains("")) return names;
  } catch (const Error&) {
    // Positional arguments, or classes that are not known: there are no names to find.
  }
  return {};
}

void apply(const Names& names, const char* fallback, std::vector<Port>& ports) {
  for (size_t i = 0; i < ports.size(); ++i)
    ports[i].name = names.empty() ? fmt::format("{}_{}", fallback, i) : names[i];
}

}  // namespace

void name_ports(const fb::ExecutionPlan& plan, MethodOutline& method) {
  const auto* specs = plan.container_meta_type();
  apply(names_of(specs ? specs->encoded_inp_str() : nullptr, method.inputs.size(),
                 [](const TreeSpec& spec) { return input_leaf_names(spec, "the tree spec"); }),
        "input", method.inputs);
  const auto outputs = [](const TreeSpec& spec) {
    // A plain tuple's leaves would be named by numbers only.
    return spec.type == "builtins.tuple" || spec.is_leaf() ? Names()
                                                           : leaf_names(spec, "the tree spec");
  };
  apply(names_of(specs ? specs->encoded_out_str() : nullptr, method.outputs.size(), outputs),
        "output", method.outputs);
}

}  // namespace slipway::executorch::reading

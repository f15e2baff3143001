// The metadata of a freshly exported component.
#include "export/metadata_of.h"

#include <algorithm>

#include "base/pytree.h"

namespace slipway {
namespace {

constexpr std::string_view kCache = "past_key_values";

/// Whether a leaf is part of the cache object of the call. Caches under other names are tensors.
bool is_cache_leaf(const std::string& leaf) { return leaf.starts_with("past_key_values.layers."); }

/// Whether a leaf with a dot in its name is a plain field: a cache under another tool's names.
bool is_renamed_cache(const std::string& leaf) {
  return !is_cache_leaf(leaf) &&
         (leaf.starts_with("past_key_values.") || leaf.starts_with("present."));
}

/// The leaves of a cache as what the reference calls it.
struct Cache {
  TreeSpec spec;
  const char* container = "DynamicCache";
};

/// `keys` are the sizes of a layer's keys where the example or the graph says them, for what the
/// spec records about a static cache.
Cache cache_of(const std::vector<std::string>& leaves, DType dtype, const Shape& keys) {
  const auto count = static_cast<int64_t>(leaves.size());
  const bool is_static = std::any_of(leaves.begin(), leaves.end(), [](const std::string& leaf) {
    return leaf.ends_with(".cumulative_length");
  });
  if (!is_static) return {TreeSpec::dynamic_cache(count / 2, dtype)};
  const bool fresh = std::none_of(leaves.begin(), leaves.end(),
                                  [](const std::string& leaf) { return leaf.ends_with(".keys"); });
  const StaticCacheShape shape{fresh ? count : count / 3, keys[0], keys[1], keys[2], keys[3]};
  return {fresh ? TreeSpec::empty_static_cache(shape) : TreeSpec::static_cache(shape, dtype),
          "StaticCache"};
}

struct Leaf {
  std::string name;
  ValueType type;
};

/// The tree of leaves in graph order: plain leaves, groups such as attention_mask.full_attention,
/// and a cache where keys and values are.
std::vector<std::pair<std::string, TreeSpec>> fields_of(const std::vector<Leaf>& leaves,
                                                        DType dtype, const Shape& keys) {
  std::vector<std::pair<std::string, TreeSpec>> fields;
  std::vector<std::string> cached;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, TreeSpec>>>> groups;
  for (const auto& [leaf, type] : leaves) {
    const std::string argument = argument_of(leaf);
    if (is_cache_leaf(leaf)) {
      cached.push_back(leaf);
    } else if (argument == leaf || is_renamed_cache(leaf)) {
      fields.emplace_back(leaf, TreeSpec::leaf());
    } else {
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& g) { return g.first == argument; });
      if (group == groups.end()) {
        groups.emplace_back(argument, std::vector<std::pair<std::string, TreeSpec>>());
        group = groups.end() - 1;
        fields.emplace_back(argument, TreeSpec::leaf());  // replaced below, in its place
      }
      group->second.emplace_back(leaf.substr(argument.size() + 1), TreeSpec::leaf());
    }
  }
  for (auto& [argument, items] : groups)
    for (auto& [name, spec] : fields)
      if (name == argument) spec = TreeSpec::dict(std::move(items));
  if (!cached.empty()) fields.emplace_back(kCache, cache_of(cached, dtype, keys).spec);
  return fields;
}

/// The keys of the first layer in the example; the graph's own sizes where the example has none, 0
/// for those that are free.
Shape key_sizes(const ExportedProgram& program, const Inputs& inputs) {
  Shape mask;
  for (const auto& [name, window] : program.mask_windows)
    if (const auto at = inputs.find(name); at != inputs.end()) mask = at->second.shape();
  for (const Output& output : program.graph->outputs()) {
    if (!is_cache_leaf(output.name) || !output.name.ends_with(".keys")) continue;
    if (const auto at = inputs.find(output.name); at != inputs.end()) return at->second.shape();
    Shape shape;
    for (Sym s : output.value.type().shape) shape.push_back(s.is_const() ? s.value() : 0);
    if (mask.size() == 4) shape[0] = mask[0], shape[2] = mask[3];
    return shape;
  }
  return {0, 0, 0, 0};
}

void add_kwarg(ExportMetadata& metadata, const Leaf& leaf, const Inputs& inputs) {
  Shape shape;
  if (const auto at = inputs.find(leaf.name); at != inputs.end()) shape = at->second.shape();
  TracedKwarg kwarg = TracedKwarg::tensor(shape, std::string(torch_name(leaf.type.dtype)));
  const std::string argument = argument_of(leaf.name);
  if (argument == leaf.name || is_renamed_cache(leaf.name)) {
    metadata.kwargs.emplace_back(leaf.name, std::move(kwarg));
    return;
  }
  auto group = std::find_if(metadata.kwargs.begin(), metadata.kwargs.end(),
                            [&](const auto& k) { return k.first == argument; });
  if (group == metadata.kwargs.end()) {
    metadata.kwargs.emplace_back(argument, TracedKwarg::mapping({}));
    group = metadata.kwargs.end() - 1;
  }
  group->second.leaves.emplace_back(leaf.name.substr(argument.size() + 1), std::move(kwarg));
}

}  // namespace

std::string masks_text(const std::map<std::string, std::optional<int64_t>>& windows) {
  Json masks = Json::object();
  for (const auto& [name, window] : windows) {
    masks[name] = Json::object();
    if (window) masks[name]["window"] = *window;
  }
  return masks.dump();
}

std::string argument_of(const std::string& leaf) { return leaf.substr(0, leaf.find('.')); }

ExportMetadata metadata_of(const PreTrainedModel& model, const ExportedProgram& program,
                           const Inputs& inputs, const ExportConfig& config) {
  ExportMetadata metadata;
  metadata.architecture = model.architecture();
  metadata.packages = {{"slipway", SLIPWAY_VERSION}};
  metadata.export_config = config.to_json_string();
  metadata.export_dtype = std::string(torch_name(model.dtype()));
  metadata.export_device = "cpu";
  std::vector<Leaf> in, out;
  std::vector<std::string> cached;
  for (const Node* input : program.graph->inputs()) {
    if (program.input_defaults.contains(input->name)) continue;  // not of the traced call
    in.push_back({input->name, input->types[0]});
    if (is_cache_leaf(input->name)) cached.push_back(input->name);
    else add_kwarg(metadata, in.back(), inputs);
  }
  for (const Output& output : program.graph->outputs())
    out.push_back({output.name, output.value.type()});
  const Shape keys = key_sizes(program, inputs);
  if (!cached.empty())
    metadata.kwargs.emplace_back(
        kCache, TracedKwarg::of_class(cache_of(cached, model.dtype(), keys).container));
  metadata.in_spec = dump_tree_spec(TreeSpec::keyword_call(fields_of(in, model.dtype(), keys)));
  // Names with a dot are no fields of an output class.
  const bool plain = std::any_of(out.begin(), out.end(),
                                 [](const Leaf& leaf) { return is_renamed_cache(leaf.name); });
  auto fields = fields_of(out, model.dtype(), keys);
  metadata.out_spec =
      dump_tree_spec(plain ? TreeSpec::dict(std::move(fields))
                           : TreeSpec::model_output(program.output_class, std::move(fields)));
  return metadata;
}

}  // namespace slipway

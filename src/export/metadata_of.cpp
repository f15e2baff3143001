// The metadata of a freshly exported component.
#include "export/metadata_of.h"

#include <algorithm>

#include "export/pytree.h"

namespace slipway {
namespace {

constexpr std::string_view kCache = "past_key_values";

/// Whether a leaf is part of the cache object of the call. Caches under other names are tensors.
bool is_cache_leaf(const std::string& leaf) { return leaf.starts_with("past_key_values.layers."); }

/// The tree of leaves in graph order: plain leaves, and a cache where keys and values are.
std::vector<std::pair<std::string, TreeSpec>> fields_of(const std::vector<std::string>& leaves,
                                                        DType dtype) {
  std::vector<std::pair<std::string, TreeSpec>> fields;
  int64_t cached = 0;
  for (const std::string& leaf : leaves) {
    if (is_cache_leaf(leaf)) ++cached;
    else fields.emplace_back(leaf, TreeSpec::leaf());
  }
  if (cached > 0) fields.emplace_back(kCache, TreeSpec::dynamic_cache(cached / 2, dtype));
  return fields;
}

}  // namespace

std::string argument_of(const std::string& leaf) { return leaf.substr(0, leaf.find('.')); }

ExportMetadata metadata_of(const PreTrainedModel& model, const ExportedProgram& program,
                           const Inputs& inputs, const ExportConfig& config) {
  ExportMetadata metadata;
  metadata.architecture = model.architecture();
  metadata.packages = {{"slipway", SLIPWAY_VERSION}};
  metadata.export_config = config.to_json_string();
  metadata.export_dtype = std::string(torch_name(model.dtype()));
  metadata.export_device = "cpu";
  std::vector<std::string> in, out;
  for (const Node* input : program.graph->inputs()) {
    in.push_back(input->name);
    if (is_cache_leaf(input->name)) continue;
    Shape shape;
    if (const auto at = inputs.find(input->name); at != inputs.end()) shape = at->second.shape();
    metadata.kwargs.emplace_back(
        input->name, TracedKwarg::tensor(shape, std::string(torch_name(input->types[0].dtype))));
  }
  for (const Output& output : program.graph->outputs()) out.push_back(output.name);
  if (in.size() > metadata.kwargs.size())
    metadata.kwargs.emplace_back(kCache, TracedKwarg::of_class("DynamicCache"));
  metadata.in_spec = dump_tree_spec(TreeSpec::keyword_call(fields_of(in, model.dtype())));
  // Names with a dot are no fields of an output class.
  const bool plain = std::any_of(
      out.begin(), out.end(), [](const std::string& leaf) { return leaf.starts_with("present."); });
  auto fields = fields_of(out, model.dtype());
  metadata.out_spec =
      dump_tree_spec(plain ? TreeSpec::dict(std::move(fields))
                           : TreeSpec::model_output(program.output_class, std::move(fields)));
  return metadata;
}

}  // namespace slipway

// Writes a program as a .pt2 file.
#include "backends/dynamo/write.h"

#include <fmt/format.h>

#include "backends/dynamo/archive_writer.h"
#include "backends/dynamo/sample_inputs.h"
#include "base/pytree.h"

namespace slipway::dynamo {
namespace {

std::vector<SampleLeaf> sample_leaves(const Graph& graph, const TreeSpec& in_spec,
                                      const WriteOptions& options) {
  std::vector<SampleLeaf> leaves;
  const std::vector<std::string>& given_names = options.program.in_leaves;
  for (const std::string& name :
       given_names.empty() ? input_leaf_names(in_spec, "in_spec") : given_names) {
    const auto constant = options.program.in_constants.find(name);
    if (constant != options.program.in_constants.end())
      leaves.push_back({DType::kF32, {}, {}, constant->second});
    for (const Node* input : graph.inputs()) {
      if (input->name != name) continue;
      SampleLeaf leaf{input->types[0].dtype, {}, {}, std::nullopt};
      const auto given = options.example.find(name);
      if (given != options.example.end()) leaf = given->second;
      else
        for (Sym size : input->types[0].shape)
          leaf.shape.push_back(size.evaluate(options.program.example_sizes));
      leaves.push_back(std::move(leaf));
    }
  }
  return leaves;
}

std::string ranges_text(const std::map<std::string, ValueRange>& ranges) {
  Json json = Json::object();
  for (const auto& [name, range] : ranges) json[name] = {range.lo, range.hi};
  return json.dump();
}

struct Planned {
  ArchiveWriter archive;
  WriteSummary summary;
};

Planned plan(const Graph& graph, const std::string& component, const WriteOptions& options) {
  const SerializedProgram serialized = serialize(graph, options.program);
  Planned planned{ArchiveWriter(component), {}};
  ArchiveWriter& archive = planned.archive;
  for (size_t i = 0; i < serialized.weight_data.size(); ++i) {
    archive.add(fmt::format("data/weights/weight_{}", i), serialized.weight_data[i]);
    planned.summary.weight_bytes += serialized.weight_data[i]->nbytes();
  }
  archive.add("data/weights/model_weights_config.json", schema::write_payloads(serialized.weights));
  for (size_t i = 0; i < serialized.constant_data.size(); ++i)
    archive.add(fmt::format("data/constants/tensor_{}", i), serialized.constant_data[i]);
  archive.add("data/constants/model_constants_config.json",
              schema::write_payloads(serialized.constants));
  archive.add("models/model.json", schema::write_program(serialized.program));
  const TreeSpec in_spec = parse_tree_spec(options.program.in_spec, "in_spec");
  archive.add("data/sample_inputs/model.pt",
              sample_inputs(in_spec, sample_leaves(graph, in_spec, options)));
  archive.add("extra/slipway.ranges", ranges_text(options.ranges));
  for (const auto& [name, text] : options.extra) archive.add("extra/" + name, text);
  archive.add("archive_format", std::string("pt2"));
  archive.add("archive_version", std::string("0"));
  archive.add(".data/version", std::string("6\n"));
  archive.add("byteorder", std::string("little"));
  archive.add_digest(".data/serialization_id");
  planned.summary.nodes = static_cast<int64_t>(serialized.program.graph_module.graph.nodes.size());
  planned.summary.file_bytes = archive.size();
  return planned;
}

}  // namespace

WriteSummary write(const Graph& graph, const std::filesystem::path& folder,
                   const std::string& component, const WriteOptions& options) {
  const Planned planned = plan(graph, component, options);
  planned.archive.write(folder / (component + ".pt2"));
  return planned.summary;
}

WriteSummary measure(const Graph& graph, const std::string& component,
                     const WriteOptions& options) {
  return plan(graph, component, options).summary;
}

}  // namespace slipway::dynamo

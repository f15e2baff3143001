// The PyTorch exporter: builds a graph and lowers it to ATen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/dynamo/lower.h"
#include "backends/dynamo/write.h"
#include "base/log.h"
#include "export/build.h"
#include "export/metadata_of.h"
#include "export/optimize.h"
#include "export/resolve.h"
#include "export/torch_program.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

class DynamoProgram final : public FreshProgram {
 public:
  DynamoProgram(std::unique_ptr<Graph> graph, dynamo::WriteOptions options)
      : graph_(std::move(graph)), options_(std::move(options)) {}

  std::string format() const override { return "dynamo"; }
  const Graph& graph() const override { return *graph_; }
  void write(const std::filesystem::path& folder, const std::string& component,
             SharedWeights&) const override {
    dynamo::write(*graph_, folder, component, options_);
  }
  ProgramSizes measure(const std::string& component, SharedWeights&) const override {
    const dynamo::WriteSummary sizes = dynamo::measure(*graph_, component, options_);
    return {sizes.file_bytes - sizes.weight_bytes, sizes.weight_bytes, sizes.nodes};
  }

 private:
  std::unique_ptr<Graph> graph_;
  dynamo::WriteOptions options_;
};

/// The sizes of the example, by symbol.
std::map<std::string, int64_t> sizes_of(const Graph& graph, const Inputs& inputs) {
  std::map<std::string, int64_t> sizes;
  for (const Node* input : graph.inputs()) {
    const auto given = inputs.find(input->name);
    if (given == inputs.end()) continue;
    const SymShape& shape = input->types[0].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis].is_symbol()) sizes.emplace(shape[axis].name(), given->second.shape()[axis]);
  }
  return sizes;
}

/// Dimensions whose stated bounds resolve_dims() narrowed to what the model takes: the ranges that
/// callers were promised.
std::map<std::string, Sym::Bounds> promised_bounds(const std::map<std::string, Sym>& dims,
                                                   const ExportConfig& config) {
  std::map<std::string, Sym::Bounds> promised;
  if (!config.dynamic_shapes || !config.prefer_deferred_runtime_asserts_over_guards)
    return promised;
  for (const auto& [input, axes] : *config.dynamic_shapes)
    for (const auto& [axis, dim] : axes)
      for (const auto& [own, size] : dims) {
        if (dim.is_auto() || !size.is_symbol() || size.name() != dim.name) continue;
        const auto [lo, hi] = size.bounds();
        const Sym::Bounds stated = {dim.min.value_or(lo), dim.max.value_or(hi)};
        if (stated.lo < lo || stated.hi > hi) promised[dim.name] = stated;
      }
  return promised;
}

/// The example call as the file keeps it: a static cache starts empty.
std::map<std::string, dynamo::SampleLeaf> example_of(const Inputs& inputs) {
  const bool is_static = std::any_of(inputs.begin(), inputs.end(), [](const auto& input) {
    return input.first.ends_with(".cumulative_length");
  });
  std::map<std::string, dynamo::SampleLeaf> example;
  for (const auto& [name, tensor] : inputs) {
    const bool empty = (is_static && argument_of(name) == "past_key_values") ||
                       tensor.numel() > dynamo::kLargestSample;
    example[name] = {tensor.dtype(), tensor.shape(), empty ? Tensor() : tensor, std::nullopt};
  }
  return example;
}

void check(const ExportConfig& config) {
  if (dynamic_cast<const DynamoConfig*>(&config) == nullptr)
    throw Error(kUsage, "[dynamo] DynamoExporter needs a DynamoConfig, got a configuration of '" +
                            config.export_format() + "'");
}

/// Lowers a graph of ATen ops and composites to ATen ops.
ExportedComponent finish(ExportedProgram program, ExportMetadata metadata,
                         const ExportConfig& config, dynamo::WriteOptions write_options) {
  optimize(*program.graph, {"canonicalize", "fold", "cse"}, config.disabled_passes, "aten");
  dynamo::lower(program);
  optimize(*program.graph, {"cse"}, config.disabled_passes, "dynamo");
  if (metadata.architecture)
    write_options.program.model_class = "transformers." + *metadata.architecture;
  write_options.program.in_spec = *metadata.in_spec;
  write_options.program.out_spec = *metadata.out_spec;
  if (!program.mask_windows.empty())
    write_options.extra["slipway.masks"] = masks_text(program.mask_windows);
  write_options.ranges = program.value_ranges;
  auto impl = std::make_shared<Program::Impl>();
  impl->fresh = std::make_shared<DynamoProgram>(std::move(program.graph), std::move(write_options));
  return {Program(std::move(impl)), std::move(metadata)};
}

}  // namespace

ExportedComponent DynamoExporter::export_program(const PreTrainedModel& model, const Inputs& inputs,
                                                 const ExportConfig& config) const {
  check(config);
  const PreparedInputs prepared = prepare_for_export(model, inputs);
  if (!prepared.dropped.empty())
    log::warning(fmt::format("inputs that {} does not take are dropped: {}", model.architecture(),
                             fmt::join(prepared.dropped, ", ")));
  models::BuildOptions options = build_options(model, prepared.inputs);
  const std::map<std::string, Sym> dims =
      resolve_dims(build(model, options), prepared.inputs, config);
  options.dims.insert(dims.begin(), dims.end());
  ExportedProgram program = build(model, options);
  ExportMetadata metadata = metadata_of(model, program, prepared.inputs, config);
  dynamo::WriteOptions write_options;
  write_options.program.example_sizes = sizes_of(*program.graph, prepared.inputs);
  write_options.program.promised = promised_bounds(dims, config);
  write_options.example = example_of(prepared.inputs);
  return finish(std::move(program), std::move(metadata), config, std::move(write_options));
}

ExportedComponent DynamoExporter::export_traced(const TorchProgram& program,
                                                const ExportConfig& config) const {
  check(config);
  ExportedProgram graph = raised(program);
  const std::vector<Shape>& shapes = program.impl().imported.example_shapes;
  Inputs inputs;
  const auto& nodes = graph.graph->inputs();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (numel(shapes[i]) <= dynamo::kLargestSample)
      inputs.emplace(nodes[i]->name, Tensor(nodes[i]->types[0].dtype, shapes[i]));
  dynamo::WriteOptions write_options;
  write_options.program.example_sizes = sizes_of(*graph.graph, inputs);
  const dynamo::Imported& imported = program.impl().imported;
  write_options.program.in_leaves = imported.in_leaves;
  write_options.program.out_leaves = imported.out_leaves;
  write_options.program.in_constants = {imported.in_constants.begin(), imported.in_constants.end()};
  write_options.program.out_constants = {imported.out_constants.begin(),
                                         imported.out_constants.end()};
  write_options.example = example_of(inputs);
  return finish(std::move(graph), metadata_of(program, config), config, std::move(write_options));
}

}  // namespace slipway

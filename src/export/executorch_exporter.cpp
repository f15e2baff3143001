// The ExecuTorch exporter: bounds sizes, optimizes, lowers, delegates and plans a graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "backends/executorch/lower.h"
#include "backends/executorch/partition.h"
#include "backends/executorch/quantized_layers.h"
#include "backends/executorch/write.h"
#include "base/log.h"
#include "export/build.h"
#include "export/executorch_llm.h"
#include "export/executorch_program.h"
#include "export/metadata_of.h"
#include "export/optimize.h"
#include "export/torch_program.h"
#include "lowering/upper_bounds.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

const ExecutorchConfig& checked(const ExportConfig& config) {
  const auto* executorch_config = dynamic_cast<const ExecutorchConfig*>(&config);
  if (executorch_config == nullptr)
    throw Error(kUsage,
                "[executorch] ExecutorchExporter needs an ExecutorchConfig, got a "
                "configuration of '" +
                    config.export_format() + "'");
  if (executorch_config->backend != "xnnpack")
    throw Error(kUnsupported,
                fmt::format("[executorch] the backend '{}' is not built in; available: xnnpack",
                            executorch_config->backend));
  return *executorch_config;
}

/// The sizes of the traced arguments, by the names of the graph's symbols.
std::map<std::string, int64_t> example_sizes(const Graph& graph, const ExportMetadata& metadata) {
  std::map<std::string, int64_t> sizes;
  const auto add = [&](const std::string& leaf, const Shape& shape) {
    for (const Node* input : graph.inputs()) {
      const SymShape& dims = input->types[0].shape;
      if (input->name != leaf || dims.size() != shape.size()) continue;
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if (dims[axis].is_symbol()) sizes.emplace(dims[axis].name(), shape[axis]);
    }
  };
  for (const auto& [name, kwarg] : metadata.kwargs) {
    if (kwarg.kind == TracedKwarg::Kind::kTensor) add(name, kwarg.shape);
    for (const auto& [part, leaf] : kwarg.leaves)
      if (leaf.kind == TracedKwarg::Kind::kTensor) add(name + "." + part, leaf.shape);
  }
  return sizes;
}

/// Gives every size an upper bound, and says which were chosen here.
void bound_sizes(Graph& graph, const ExportMetadata& metadata) {
  const std::vector<Sym> free = lowering::unbounded_symbols(graph);
  if (free.empty()) return;
  const auto bounds = lowering::default_upper_bounds(free, example_sizes(graph, metadata));
  std::vector<std::string> chosen;
  for (const auto& [symbol, bound] : bounds)
    chosen.push_back(fmt::format("{} <= {}", symbol, bound));
  log::warning(fmt::format("memory is planned for {}; give other bounds in dynamic_shapes",
                           fmt::join(chosen, ", ")));
  lowering::set_upper_bounds(graph, bounds);
}

/// What a program for the LLM runner has beside its graph.
struct Extras {
  std::set<std::string> buffers;
  std::map<std::string, std::vector<executorch::EValue>> methods;
};

ExportedComponent finish(ExportedProgram program, ExportMetadata metadata,
                         const ExecutorchConfig& config, Extras extras = {}) {
  lowering::fix_sizes(*program.graph);
  optimize(*program.graph, {"canonicalize", "fold", "cse"}, config.disabled_passes, "aten");
  bound_sizes(*program.graph, metadata);
  Delegation report;
  for (const auto& [reason, count] : executorch::fuse_quantized_layers(*program.graph))
    report.left[{"aten::linear of a quantized weight", reason}] = count;
  std::vector<std::string> unread;
  std::unique_ptr<Graph> graph = executorch::lower(program, &unread);
  optimize(*graph, {"cse"}, config.disabled_passes, "executorch");
  if (!unread.empty())
    log::info(fmt::format("inputs that the graph does not read are dropped: {}",
                          fmt::join(unread, ", ")));
  const std::vector<executorch::Partition> parts = executorch::partition(*graph, &report);
  log::info(report.to_text());
  executorch::Program made;
  made.methods.push_back(executorch::emit(*graph, "forward", parts, extras.buffers));
  made.metadata_methods = std::move(extras.methods);
  made.value_ranges = program.value_ranges;
  if (!program.architecture.empty()) made.metadata["architecture"] = program.architecture;
  if (!program.mask_windows.empty())
    made.metadata["slipway.masks"] = masks_text(program.mask_windows);
  auto impl = std::make_shared<Program::Impl>();
  impl->fresh = std::make_shared<ExecutorchProgram>(
      std::move(graph), std::move(made), std::move(report),
      executorch::PlanOptions{.alloc_graph_input = config.alloc_graph_input,
                              .alloc_graph_output = config.alloc_graph_output,
                              .alloc_mutable_buffers = config.alloc_mutable_buffers},
      std::move(extras.buffers),
      config.single_file ? FileSharing::kOneFile : FileSharing::kOwnFiles);
  return {Program(std::move(impl)), std::move(metadata)};
}

ExportedComponent export_llm(const PreTrainedModel& model, const ExecutorchConfig& config) {
  if (config.dynamic_shapes)
    throw Error(kUsage, "[executorch] llm_slots sets every size; leave dynamic_shapes out");
  if (!config.alloc_graph_output || !config.alloc_mutable_buffers)
    throw Error(kUsage,
                "[executorch] ExecuTorch's LLM runner gives outputs and buffers no memory; leave "
                "alloc_graph_output and alloc_mutable_buffers on with llm_slots");
  const int64_t slots = llm_slots(model, *config.llm_slots);
  ExportedProgram program = build(model, llm_build_options(model, slots));
  Extras extras{make_llm_program(program, slots), llm_methods(model, slots)};
  ExportMetadata metadata;
  metadata.architecture = model.architecture();
  metadata.packages = {{"slipway", SLIPWAY_VERSION}};
  metadata.export_config = config.to_json_string();
  metadata.export_dtype = std::string(torch_name(model.dtype()));
  metadata.export_device = "cpu";
  return finish(std::move(program), std::move(metadata), config, std::move(extras));
}

}  // namespace

ExportedComponent ExecutorchExporter::export_program(const PreTrainedModel& model,
                                                     const Inputs& inputs,
                                                     const ExportConfig& config) const {
  const ExecutorchConfig& executorch_config = checked(config);
  if (executorch_config.llm_slots) return export_llm(model, executorch_config);
  const PreparedBuild prepared = prepare_build(model, inputs, config);
  ExportedProgram program = build(model, prepared.options);
  ExportMetadata metadata = metadata_of(model, program, prepared.inputs, config);
  return finish(std::move(program), std::move(metadata), executorch_config);
}

ExportedComponent ExecutorchExporter::export_traced(const TorchProgram& program,
                                                    const ExportConfig& config) const {
  const ExecutorchConfig& executorch_config = checked(config);
  if (executorch_config.llm_slots)
    throw Error(kUsage, "[executorch] llm_slots is for checkpoints, got a traced program");
  return finish(raised(program), metadata_of(program, config), executorch_config);
}

}  // namespace slipway

// The ONNX exporter: builds, optimizes and lowers a graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/onnx/lower.h"
#include "base/json.h"
#include "base/log.h"
#include "export/build.h"
#include "export/io_names.h"
#include "export/metadata_of.h"
#include "export/resolve.h"
#include "passes/pipeline.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultOpset = 20;

void report(const Pipeline& pipeline, const char* stage) {
  for (const PassReport& pass : pipeline.report())
    log::debug(fmt::format("{} {}: {} changes in {:.1f} ms", stage, pass.name, pass.changes,
                           pass.seconds * 1e3));
}

void optimize(Graph& graph, std::vector<std::string_view> names, const OnnxConfig& config,
              const char* stage) {
  for (const std::string& disabled : config.disabled_passes) {
    find_pass(disabled);  // an unknown name is an error
    std::erase(names, disabled);
  }
  if (names.empty()) return;
  Pipeline pipeline;
  pipeline.repeat(names);
  PassContext context;
  pipeline.run(graph, context);
  report(pipeline, stage);
}

/// Whether the export fixes a size. A size that nothing replaces is free.
bool has_one_size(const models::BuildOptions& options, const std::string& dim) {
  const auto at = options.dims.find(dim);
  return at != options.dims.end() && at->second.is_const();
}

std::string masks_text(const std::map<std::string, std::optional<int64_t>>& windows) {
  Json masks = Json::object();
  for (const auto& [name, window] : windows) {
    masks[name] = Json::object();
    if (window) masks[name]["window"] = *window;
  }
  return masks.dump();
}

}  // namespace

ExportedComponent OnnxExporter::export_program(const PreTrainedModel& model, const Inputs& inputs,
                                               const ExportConfig& config) const {
  const auto* onnx_config = dynamic_cast<const OnnxConfig*>(&config);
  if (onnx_config == nullptr)
    throw Error(kUsage, "[onnx] OnnxExporter needs an OnnxConfig, got a configuration of '" +
                            config.export_format() + "'");
  const int64_t opset = onnx_config->opset_version.value_or(kDefaultOpset);
  onnx::ir_version_of(opset);
  const PreparedInputs prepared = prepare_for_export(model, inputs);
  if (!prepared.dropped.empty())
    log::warning(fmt::format("inputs that {} does not take are dropped: {}", model.architecture(),
                             fmt::join(prepared.dropped, ", ")));
  models::BuildOptions options = build_options(model, prepared.inputs);
  options.dims.merge(resolve_dims(build(model, options), prepared.inputs, config));
  // Optimum and onnxruntime-genai know no such input.
  options.logits_to_keep =
      !has_one_size(options, "sequence_length") && onnx_config->io_names != IoNames::kOptimum;
  ExportedProgram program = build(model, options);
  apply_io_names(program, onnx_config->io_names);
  const ExportMetadata metadata =
      metadata_of(model, program, with_io_names(prepared.inputs, onnx_config->io_names), config);

  if (onnx_config->optimize)
    optimize(*program.graph, {"canonicalize", "fold", "cse"}, *onnx_config, "aten");
  std::vector<std::string> unread;
  auto impl = std::make_shared<Program::Impl>();
  impl->graph = onnx::lower(program, {.opset_version = opset}, &unread);
  if (onnx_config->optimize) optimize(*impl->graph, {"cse"}, *onnx_config, "onnx");
  if (!unread.empty())
    log::info(fmt::format("inputs that the graph does not read are dropped: {}",
                          fmt::join(unread, ", ")));
  impl->ranges = program.value_ranges;
  impl->write_options.opset_version = opset;
  impl->write_options.graph_name = model.architecture();
  impl->write_options.input_defaults = program.input_defaults;
  if (!program.mask_windows.empty())
    impl->write_options.metadata["slipway.masks"] = masks_text(program.mask_windows);
  return {Program(std::move(impl)), metadata};
}

std::unique_ptr<HfExporter> AutoHfExporter::from_config(const ExportConfig& config) {
  if (config.export_format() == "onnx") return std::make_unique<OnnxExporter>();
  throw Error(kUnsupported,
              fmt::format("[export] format '{}' is not built in; available: {}",
                          config.export_format(), fmt::join(available_formats(), ", ")));
}

}  // namespace slipway

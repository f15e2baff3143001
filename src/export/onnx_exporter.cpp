// The ONNX exporter: builds, optimizes and lowers a graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/onnx/lower.h"
#include "base/log.h"
#include "export/build.h"
#include "export/io_names.h"
#include "export/metadata_of.h"
#include "export/onnx_program.h"
#include "export/optimize.h"
#include "export/resolve.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultOpset = 20;

/// Whether the export fixes a size. A size that nothing replaces is free.
bool has_one_size(const models::BuildOptions& options, const std::string& dim) {
  const auto at = options.dims.find(dim);
  return at != options.dims.end() && at->second.is_const();
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
    optimize(*program.graph, {"canonicalize", "fold", "cse"}, onnx_config->disabled_passes, "aten");
  std::vector<std::string> unread;
  std::unique_ptr<Graph> graph = onnx::lower(program, {.opset_version = opset}, &unread);
  if (onnx_config->optimize) optimize(*graph, {"cse"}, onnx_config->disabled_passes, "onnx");
  if (!unread.empty())
    log::info(fmt::format("inputs that the graph does not read are dropped: {}",
                          fmt::join(unread, ", ")));
  onnx::WriteOptions write_options;
  write_options.opset_version = opset;
  write_options.graph_name = model.architecture();
  write_options.input_defaults = program.input_defaults;
  if (!program.mask_windows.empty())
    write_options.metadata["slipway.masks"] = masks_text(program.mask_windows);
  auto impl = std::make_shared<Program::Impl>();
  impl->fresh = std::make_shared<OnnxProgram>(std::move(graph), program.value_ranges,
                                              std::move(write_options));
  return {Program(std::move(impl)), metadata};
}

}  // namespace slipway

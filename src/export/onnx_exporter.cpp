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
#include "export/torch_program.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultOpset = 20;

/// Whether the export fixes a size. A size that nothing replaces is free.
bool has_one_size(const models::BuildOptions& options, const std::string& dim) {
  const auto at = options.dims.find(dim);
  return at != options.dims.end() && at->second.is_const();
}

const OnnxConfig& checked(const ExportConfig& config) {
  const auto* onnx_config = dynamic_cast<const OnnxConfig*>(&config);
  if (onnx_config == nullptr)
    throw Error(kUsage, "[onnx] OnnxExporter needs an OnnxConfig, got a configuration of '" +
                            config.export_format() + "'");
  onnx::ir_version_of(onnx_config->opset_version.value_or(kDefaultOpset));
  return *onnx_config;
}

/// Lowers a graph of ATen ops and composites.
ExportedComponent finish(ExportedProgram program, ExportMetadata metadata,
                         const OnnxConfig& config) {
  const int64_t opset = config.opset_version.value_or(kDefaultOpset);
  if (config.optimize)
    optimize(*program.graph, {"canonicalize", "fold", "cse"}, config.disabled_passes, "aten");
  std::vector<std::string> unread;
  std::unique_ptr<Graph> graph = onnx::lower(program, {.opset_version = opset}, &unread);
  if (config.optimize) optimize(*graph, {"cse"}, config.disabled_passes, "onnx");
  if (!unread.empty())
    log::info(fmt::format("inputs that the graph does not read are dropped: {}",
                          fmt::join(unread, ", ")));
  onnx::WriteOptions write_options;
  write_options.opset_version = opset;
  write_options.graph_name = program.architecture;
  write_options.input_defaults = program.input_defaults;
  if (!program.mask_windows.empty())
    write_options.metadata["slipway.masks"] = masks_text(program.mask_windows);
  auto impl = std::make_shared<Program::Impl>();
  impl->fresh = std::make_shared<OnnxProgram>(std::move(graph), program.value_ranges,
                                              std::move(write_options));
  return {Program(std::move(impl)), std::move(metadata)};
}

}  // namespace

ExportedComponent OnnxExporter::export_program(const PreTrainedModel& model, const Inputs& inputs,
                                               const ExportConfig& config) const {
  const OnnxConfig& onnx_config = checked(config);
  PreparedBuild prepared = prepare_build(model, inputs, config);
  models::BuildOptions& options = prepared.options;
  // Optimum and onnxruntime-genai know no such input.
  options.logits_to_keep =
      !has_one_size(options, "sequence_length") && onnx_config.io_names != IoNames::kOptimum;
  ExportedProgram program = build(model, options);
  apply_io_names(program, onnx_config.io_names);
  ExportMetadata metadata =
      metadata_of(model, program, with_io_names(prepared.inputs, onnx_config.io_names), config);
  return finish(std::move(program), std::move(metadata), onnx_config);
}

ExportedComponent OnnxExporter::export_traced(const TorchProgram& program,
                                              const ExportConfig& config) const {
  const OnnxConfig& onnx_config = checked(config);
  if (onnx_config.io_names != IoNames::kTransformers)
    throw Error(kUnsupported,
                "[onnx] a traced program keeps the names that it was traced with; "
                "need io_names of transformers");
  return finish(raised(program), metadata_of(program, config), onnx_config);
}

}  // namespace slipway

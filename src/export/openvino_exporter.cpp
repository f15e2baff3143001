// The OpenVINO exporter: builds, optimizes and lowers a graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "backends/openvino/compress.h"
#include "backends/openvino/lower.h"
#include "backends/openvino/states.h"
#include "backends/openvino/write.h"
#include "base/log.h"
#include "export/build.h"
#include "export/metadata_of.h"
#include "export/optimize.h"
#include "export/output_spec.h"
#include "export/torch_program.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

class OpenVINOProgram final : public FreshProgram {
 public:
  OpenVINOProgram(std::unique_ptr<Graph> graph, std::map<std::string, ValueRange> ranges,
                  openvino::WriteOptions options)
      : graph_(std::move(graph)), ranges_(std::move(ranges)), options_(std::move(options)) {}

  std::string format() const override { return "openvino"; }
  const Graph& graph() const override { return *graph_; }
  void write(const std::filesystem::path& folder, const std::string& component,
             SharedWeights&) const override {
    openvino::write(*graph_, ranges_, folder, component, options_);
  }
  ProgramSizes measure(const std::string&, SharedWeights&) const override {
    const openvino::WriteSummary sizes = openvino::measure(*graph_, ranges_, options_);
    return {sizes.model_bytes, sizes.data_bytes, sizes.nodes};
  }

 private:
  std::unique_ptr<Graph> graph_;
  std::map<std::string, ValueRange> ranges_;
  openvino::WriteOptions options_;
};

const OpenVINOConfig& checked(const ExportConfig& config) {
  const auto* openvino_config = dynamic_cast<const OpenVINOConfig*>(&config);
  if (openvino_config == nullptr)
    throw Error(kUsage,
                "[openvino] OpenVINOExporter needs an OpenVINOConfig, got a configuration "
                "of '" +
                    config.export_format() + "'");
  return *openvino_config;
}

std::string precision_of(DType dtype) {
  if (dtype == DType::kF16) return "f16";
  return dtype == DType::kBF16 ? "bf16" : "f32";
}

/// Lowers a graph of ATen ops and composites.
ExportedComponent finish(ExportedProgram program, ExportMetadata metadata,
                         const OpenVINOConfig& config) {
  optimize(*program.graph, {"canonicalize", "fold", "cse"}, config.disabled_passes, "aten");
  const openvino::Caches caches =
      config.stateful ? openvino::Caches::kVariables : openvino::Caches::kInputsAndOutputs;
  openvino::WriteOptions options;
  if (config.stateful) {
    Json variables = Json::object();
    std::set<std::string> leaves;
    for (const openvino::State& state : openvino::find_states(*program.graph)) {
      leaves.insert(state.input->name);
      variables[state.input->name] = state.variable_id;
      options.variables[state.variable_id] = state.input->types[0].shape;
    }
    drop_outputs(metadata, leaves);
    if (!leaves.empty()) options.metadata["states"] = variables.dump();
    if (const std::string kind = openvino::attention_kind(*program.graph); !kind.empty())
      options.metadata["attention"] = kind;
  }
  std::vector<std::string> unread;
  std::unique_ptr<Graph> graph = openvino::lower(program, {.caches = caches}, &unread);
  optimize(*graph, {"cse"}, config.disabled_passes, "openvino");
  if (!unread.empty())
    log::info(fmt::format("inputs that the graph does not read are dropped: {}",
                          fmt::join(unread, ", ")));
  if (config.compress_to_fp16)
    if (const auto beyond = openvino::compress_to_fp16(*graph); !beyond.empty())
      log::warning(fmt::format("weights with values beyond the range of float16 stay float32: {}",
                               fmt::join(beyond, ", ")));
  if (!program.architecture.empty()) options.graph_name = program.architecture;
  options.precision = precision_of(program.dtype);
  if (!program.mask_windows.empty()) options.metadata["masks"] = masks_text(program.mask_windows);
  auto impl = std::make_shared<Program::Impl>();
  impl->fresh =
      std::make_shared<OpenVINOProgram>(std::move(graph), program.value_ranges, std::move(options));
  return {Program(std::move(impl)), std::move(metadata)};
}

}  // namespace

ExportedComponent OpenVINOExporter::export_program(const PreTrainedModel& model,
                                                   const Inputs& inputs,
                                                   const ExportConfig& config) const {
  const OpenVINOConfig& openvino_config = checked(config);
  const PreparedBuild prepared = prepare_build(model, inputs, config);
  ExportedProgram program = build(model, prepared.options);
  ExportMetadata metadata = metadata_of(model, program, prepared.inputs, config);
  return finish(std::move(program), std::move(metadata), openvino_config);
}

ExportedComponent OpenVINOExporter::export_traced(const TorchProgram& program,
                                                  const ExportConfig& config) const {
  const OpenVINOConfig& openvino_config = checked(config);
  return finish(raised(program), metadata_of(program, config), openvino_config);
}

}  // namespace slipway

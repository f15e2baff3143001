// The ONNX exporter: builds, optimizes and lowers a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/onnx/lower.h"
#include "base/log.h"
#include "checkpoint/expr.h"
#include "export/io_names.h"
#include "export/metadata_of.h"
#include "export/resolve.h"
#include "passes/pipeline.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

constexpr int64_t kDefaultOpset = 20;

bool is_cache(const std::string& leaf) { return argument_of(leaf) == "past_key_values"; }

models::BuildOptions build_options(const PreTrainedModel& model, const Inputs& inputs) {
  models::BuildOptions options{
      .dtype = model.dtype(), .cache = model.impl().task.cache, .dims = {}, .inputs = {}};
  std::set<std::string> names;
  for (const auto& [name, tensor] : inputs) {
    names.insert(name);
    if (is_cache(name)) options.cache = models::CacheKind::kGrowing;
  }
  options.inputs = std::move(names);
  return options;
}

ExportedProgram build(const PreTrainedModel& model, const models::BuildOptions& options) {
  return models::build_program(model.impl().checkpoint, model.impl().task, options);
}

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

}  // namespace

PreparedInputs prepare_for_export(const PreTrainedModel& model, const Inputs& inputs) {
  const ExportedProgram program = build(model, build_options(model, inputs));
  PreparedInputs prepared;
  for (const auto& [name, tensor] : inputs) {
    const Node* match = nullptr;
    for (const Node* input : program.graph->inputs())
      if (input->name == name) match = input;
    if (match == nullptr) {
      prepared.dropped.push_back(name);
      continue;
    }
    const DType wanted = match->types[0].dtype;
    if (is_floating(tensor.dtype()) != is_floating(wanted))
      throw Error(kInvalid, fmt::format("[export] '{}' is {}, the model takes {}", name,
                                        torch_name(tensor.dtype()), torch_name(wanted)));
    prepared.inputs[name] =
        tensor.dtype() == wanted ? tensor : materialize(*lazy_cast(lazy_constant(tensor), wanted));
  }
  return prepared;
}

std::vector<std::pair<std::string, Tensor>> get_leaf_tensors(const Inputs& inputs) {
  std::vector<std::pair<std::string, Tensor>> leaves;
  for (const char* first : {"input_ids", "attention_mask", "token_type_ids", "position_ids"})
    if (const auto at = inputs.find(first); at != inputs.end()) leaves.emplace_back(*at);
  const size_t named = leaves.size();
  for (const auto& item : inputs) {
    bool listed = false;
    for (size_t i = 0; i < named; ++i) listed = listed || leaves[i].first == item.first;
    if (!listed) leaves.emplace_back(item);
  }
  // Layer 10 comes after layer 9: shorter names of one prefix first.
  const auto begin = leaves.begin() + static_cast<int64_t>(named);
  std::stable_sort(begin, leaves.end(), [](const auto& a, const auto& b) {
    if (argument_of(a.first) != argument_of(b.first)) return false;
    const auto layer = [](const std::string& s) {
      const size_t digit = s.find_first_of("0123456789");
      return digit == std::string::npos ? 0L : std::stol(s.substr(digit, 9));
    };
    return layer(a.first) < layer(b.first);
  });
  return leaves;
}

ExportedModel OnnxExporter::export_model(const PreTrainedModel& model, const Inputs& inputs,
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
  options.dims = resolve_dims(build(model, options), prepared.inputs, config);
  ExportedProgram program = build(model, options);
  apply_io_names(*program.graph, onnx_config->io_names);
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

  auto exported = std::make_unique<ExportedModel::Impl>();
  exported->components.emplace_back("model", ExportedComponent{Program(std::move(impl)), metadata});
  Json json = model.impl().checkpoint.config.json();
  json["dtype"] = std::string(torch_name(model.dtype()));
  json.erase("torch_dtype");
  exported->config = json.dump(2) + "\n";
  exported->companions = model.impl().checkpoint.companions;
  return ExportedModel(std::move(exported));
}

std::unique_ptr<HfExporter> AutoHfExporter::from_config(const ExportConfig& config) {
  if (config.export_format() == "onnx") return std::make_unique<OnnxExporter>();
  throw Error(kUnsupported,
              fmt::format("[export] format '{}' is not built in; available: {}",
                          config.export_format(), fmt::join(available_formats(), ", ")));
}

}  // namespace slipway

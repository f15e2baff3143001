// What exporters of all formats share: one component or several, and the files that go along.
#include "slipway/exporter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "export/capture.h"
#include "export/executorch_program.h"
#include "export/generation_config_file.h"
#include "export/impl.h"
#include "export/metadata_of.h"
#include "export/torch_program.h"

namespace slipway {
namespace {

std::shared_ptr<const ExportConfig> borrowed(const ExportConfig& config) {
  return {&config, [](const ExportConfig*) {}};
}

ComponentConfigs config_for_all(const Components& components, const ExportConfig& config) {
  ComponentConfigs configs;
  for (const auto& [name, component] : components) configs[name] = borrowed(config);
  return configs;
}

}  // namespace

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

ExportedModel HfExporter::export_components(const Components& components,
                                            const ComponentConfigs& configs) const {
  if (components.empty()) throw Error(kUsage, "[export] there is no component to export");
  std::vector<std::string> missing, names;
  for (const auto& [name, component] : components) {
    const auto at = configs.find(name);
    if (at == configs.end() || at->second == nullptr) missing.push_back(name);
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw Error(kUsage, fmt::format("[export] there are two components named '{}'", name));
    names.push_back(name);
  }
  for (const auto& [name, config] : configs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(kUsage, fmt::format("[export] there is a configuration for '{}'; the components "
                                      "are {}",
                                      name, fmt::join(names, ", ")));
  if (!missing.empty())
    throw Error(kUsage,
                fmt::format("[export] there is no configuration for {}; the components are {}",
                            fmt::join(missing, ", "), fmt::join(names, ", ")));
  auto exported = std::make_unique<ExportedModel::Impl>();
  for (const auto& [name, component] : components) {
    const ExportConfig& config = *configs.at(name);
    exported->format = config.export_format();
    try {
      exported->components.emplace_back(name,
                                        export_program(component.model, component.inputs, config));
    } catch (const Error& error) {
      if (components.size() == 1) throw;
      throw error.with_context(fmt::format("component '{}'", name));
    }
  }
  join_executorch(exported->components);
  const PreTrainedModel& model = components.front().second.model;
  Json json = model.impl().checkpoint.config.json();
  json["dtype"] = std::string(torch_name(model.dtype()));
  json.erase("torch_dtype");
  exported->config = json.dump(2) + "\n";
  exported->companions = model.impl().checkpoint.companions;
  return ExportedModel(std::move(exported));
}

ExportedModel HfExporter::export_model(const PreTrainedModel& model, const Inputs& inputs,
                                       const ExportConfig& config) const {
  return export_components({{"model", Submodel{model, inputs}}}, {{"model", borrowed(config)}});
}

ExportedModel HfExporter::export_model(const TorchProgram& program,
                                       const ExportConfig& config) const {
  if (config.dynamic_shapes)
    throw Error(kUsage,
                "[export] dynamic_shapes cannot be given for a traced program: which sizes "
                "are symbolic was settled when it was traced");
  auto exported = std::make_unique<ExportedModel::Impl>();
  exported->format = config.export_format();
  exported->components.emplace_back("model", export_traced(program, config));
  exported->config = program.impl().config;
  exported->companions = program.impl().companions;
  return ExportedModel(std::move(exported));
}

ExportedModel HfExporter::export_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                                const ComponentConfigs& configs,
                                                const DecomposeOptions& options) const {
  const Components components = capture(model, inputs, options, CaptureValues::kShapesOnly);
  ExportedModel exported = export_components(components, configs);
  set_generation_config(exported.impl().companions, options.generation_config);
  return exported;
}

ExportedModel HfExporter::export_for_generation(const PreTrainedModel& model, const Inputs& inputs,
                                                const ExportConfig& config,
                                                const DecomposeOptions& options) const {
  const Components components = capture(model, inputs, options, CaptureValues::kShapesOnly);
  ExportedModel exported = export_components(components, config_for_all(components, config));
  set_generation_config(exported.impl().companions, options.generation_config);
  return exported;
}

std::unique_ptr<HfExporter> AutoHfExporter::from_config(const ExportConfig& config) {
  if (config.export_format() == "onnx") return std::make_unique<OnnxExporter>();
  if (config.export_format() == "dynamo") return std::make_unique<DynamoExporter>();
  if (config.export_format() == "openvino") return std::make_unique<OpenVINOExporter>();
  if (config.export_format() == "executorch") return std::make_unique<ExecutorchExporter>();
  throw Error(kUnsupported,
              fmt::format("[export] format '{}' is not built in; available: {}",
                          config.export_format(), fmt::join(available_formats(), ", ")));
}

}  // namespace slipway

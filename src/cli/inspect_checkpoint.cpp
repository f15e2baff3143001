// Reports on checkpoints and safetensors files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "models/registry.h"

namespace slipway::cli {
namespace {

constexpr const char* kSummaryKeys[] = {
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "type_vocab_size",
    "max_position_embeddings",
    "sliding_window",
    "tie_word_embeddings",
    "rope_parameters",
    "rope_theta",
    "rope_scaling",
    "quantization_config",
};

struct Totals {
  int64_t tensors = 0, elements = 0, bytes = 0;
  std::map<std::string, int64_t> dtypes;
};

Totals count(const WeightStore& weights) {
  Totals totals;
  for (const std::string& name : weights.names()) {
    const Lazy tensor = weights.find(name);
    ++totals.tensors;
    ++totals.dtypes[std::string(torch_name(tensor->dtype()))];
    totals.elements += tensor->numel();
    totals.bytes += tensor->nbytes();
  }
  return totals;
}

void add_totals(Report& report, const Totals& totals) {
  report.json["tensors"] = totals.tensors;
  report.json["parameters"] = totals.elements;
  report.json["bytes"] = totals.bytes;  // of the values, after dequantizing
  report.json["dtypes"] = totals.dtypes;
  std::string dtypes;
  for (const auto& [name, number] : totals.dtypes)
    dtypes += fmt::format("{}{} x {}", dtypes.empty() ? "" : ", ", number, name);
  report.text += fmt::format("  tensors: {} ({}), {} values, {}\n", totals.tensors, dtypes,
                             totals.elements, megabytes(totals.bytes));
}

/// "ok", or what is wrong with the weights for the model that the config names.
std::string audit(const Checkpoint& checkpoint) {
  try {
    const models::ModelType& type = models::find_model(checkpoint.config);
    const models::ResolvedTask task = models::resolve_task(type, checkpoint.config, "auto");
    models::BuildOptions options;
    options.cache = task.cache;
    models::build_program(checkpoint, task, options);
    return "ok";
  } catch (const Error& error) {
    if (error.kind() != kInvalid && error.kind() != kUnsupported) throw;
    return error.what();
  }
}

Json tasks_of(const Checkpoint& checkpoint) {
  Json tasks = Json::array();
  for (const models::ModelType* type : models::model_types())
    if (type->name == checkpoint.config.model_type())
      for (const models::Head& head : type->heads) tasks.push_back(std::string(head.task));
  return tasks;
}

}  // namespace

Report inspect_checkpoint(const std::filesystem::path& path) {
  const Checkpoint checkpoint = open_checkpoint(path);
  const Config& config = checkpoint.config;
  Json summary = Json::object();
  for (const char* key : kSummaryKeys)
    if (const auto at = config.json().find(key); at != config.json().end()) summary[key] = *at;
  Json companions = Json::array();
  for (const CompanionFile& file : checkpoint.companions) companions.push_back(file.name);
  const Json tasks = tasks_of(checkpoint);
  const std::string verdict = audit(checkpoint);

  Report report;
  report.json = {{"kind", "checkpoint"},
                 {"path", display(path)},
                 {"model_type", config.model_type()},
                 {"architecture", config.architecture()},
                 {"weights", checkpoint.weights->description()},
                 {"tasks", tasks}};
  report.text =
      fmt::format("checkpoint {}\n  model type: {} {}\n  weights: {}\n", display(path),
                  config.model_type(), config.architecture(), checkpoint.weights->description());
  add_totals(report, count(*checkpoint.weights));
  report.json["config"] = summary;
  report.json["companions"] = companions;
  report.json["audit"] = verdict;
  for (const auto& [key, value] : summary.items())
    report.text += fmt::format("  {}: {}\n", key, value.dump());
  std::string names;
  for (const Json& task : tasks) names += (names.empty() ? "" : ", ") + task.get<std::string>();
  report.text += fmt::format("  tasks: {}\n  audit: {}\n", names.empty() ? "none" : names, verdict);
  return report;
}

Report inspect_safetensors(const std::filesystem::path& file) {
  const auto weights = open_safetensors_file(file);
  Report report;
  report.json = {{"kind", "safetensors"}, {"path", display(file)}};
  report.text = fmt::format("safetensors {}\n", display(file));
  add_totals(report, count(*weights));
  Json list = Json::array();
  for (const std::string& name : weights->names()) {
    const Lazy tensor = weights->find(name);
    const std::string dtype(torch_name(tensor->dtype()));
    list.push_back({{"name", name}, {"dtype", dtype}, {"shape", tensor->shape()}});
    report.text += fmt::format("    {}: {}{}\n", name, dtype, shape_string(tensor->shape()));
  }
  report.json["entries"] = std::move(list);
  return report;
}

}  // namespace slipway::cli

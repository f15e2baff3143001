// The model types of this build, and building a program from a checkpoint.
#include "models/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model_table.h"

namespace slipway::models {
namespace {

constexpr std::string_view kWithPast = "-with-past";

}  // namespace

std::vector<const ModelType*> model_types() {
  std::vector<const ModelType*> types(std::begin(kModelTypes), std::end(kModelTypes));
  std::sort(types.begin(), types.end(),
            [](const ModelType* a, const ModelType* b) { return a->name < b->name; });
  return types;
}

const ModelType& find_model(const Config& config) {
  const std::string wanted = config.model_type();
  std::vector<std::string_view> names;
  for (const ModelType* type : model_types()) {
    if (type->name == wanted) return *type;
    names.push_back(type->name);
  }
  if (wanted.empty())
    throw Error(kInvalid, fmt::format("[models] {} states no model_type; it must be one of {}",
                                      config.source(), fmt::join(names, ", ")));
  throw Error(kUnsupported,
              fmt::format("[models] model_type '{}' of {} has no native model; supported: {}",
                          wanted, config.source(), fmt::join(names, ", ")));
}

ResolvedTask resolve_task(const ModelType& model, const Config& config, const std::string& task) {
  std::string wanted = task;
  if (task == "auto") {
    const std::string architecture = config.architecture();
    for (const Head& head : model.heads)
      if (head.architecture == architecture) wanted = head.task;
    if (wanted == "auto") {
      if (!architecture.empty())
        throw Error(
            kUnsupported,
            fmt::format("[models] architecture '{}' of {} is not one that '{}' has; name the "
                        "task with --task",
                        architecture, config.source(), model.name));
      wanted = "feature-extraction";
    }
    if (wanted == "text-generation") wanted += kWithPast;
  }
  ResolvedTask resolved{.task = wanted};
  std::string_view base = wanted;
  if (base.ends_with(kWithPast)) {
    base.remove_suffix(kWithPast.size());
    resolved.cache = CacheKind::kGrowing;
  }
  std::vector<std::string> tasks;
  for (const Head& head : model.heads) {
    if (head.task == base && (resolved.cache == CacheKind::kNone || base == "text-generation"))
      resolved.head = &head;
    tasks.emplace_back(head.task);
    if (head.task == "text-generation")
      tasks.push_back(std::string(head.task) + std::string(kWithPast));
  }
  if (resolved.head == nullptr)
    throw Error(kUnsupported, fmt::format("[models] '{}' has no task '{}'; it has {}", model.name,
                                          wanted, fmt::join(tasks, ", ")));
  return resolved;
}

ExportedProgram build_program(const Checkpoint& checkpoint, const ResolvedTask& task,
                              const BuildOptions& options) {
  const ModelType& model = find_model(checkpoint.config);
  WeightBinder binder(checkpoint.weights, {.base_prefix = std::string(model.base_prefix),
                                           .ignorable = model.ignorable});
  ExportedProgram program;
  program.architecture = task.head->architecture;
  program.output_class = task.head->output_class;
  program.dtype = options.dtype;
  ModelBuilder m(program, checkpoint.config, binder, options);
  task.head->build(m);
  binder.finish();
  program.graph->drop_dead();
  return program;
}

}  // namespace slipway::models

// Building a model's graph for example inputs.
#include "export/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "checkpoint/expr.h"
#include "export/metadata_of.h"
#include "export/resolve.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

bool is_cache(const std::string& leaf) { return argument_of(leaf) == "past_key_values"; }

}  // namespace

models::BuildOptions build_options(const PreTrainedModel& model, const Inputs& inputs) {
  models::BuildOptions options{
      .dtype = model.dtype(), .cache = model.impl().task.cache, .dims = {}, .inputs = {}};
  if (model.impl().one_token) options.dims["sequence_length"] = 1;
  std::set<std::string> names;
  bool keys = false, slots = false;
  for (const auto& [name, tensor] : inputs) {
    names.insert(name);
    slots = slots || (is_cache(name) && name.ends_with(".cumulative_length"));
    keys = keys || (is_cache(name) && !name.ends_with(".cumulative_length"));
  }
  if (slots) options.cache = keys ? models::CacheKind::kStatic : models::CacheKind::kStaticFresh;
  else if (keys) options.cache = models::CacheKind::kGrowing;
  options.inputs = std::move(names);
  return options;
}

ExportedProgram build(const PreTrainedModel& model, const models::BuildOptions& options) {
  return models::build_program(model.impl().checkpoint, model.impl().task, options);
}

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

PreparedBuild prepare_build(const PreTrainedModel& model, const Inputs& inputs,
                            const ExportConfig& config) {
  PreparedInputs prepared = prepare_for_export(model, inputs);
  if (!prepared.dropped.empty())
    log::warning(fmt::format("inputs that {} does not take are dropped: {}", model.architecture(),
                             fmt::join(prepared.dropped, ", ")));
  models::BuildOptions options = build_options(model, prepared.inputs);
  options.dims.merge(resolve_dims(build(model, options), prepared.inputs, config));
  return {std::move(prepared.inputs), std::move(options)};
}

}  // namespace slipway

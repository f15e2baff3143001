// Building a model's graph for example inputs, and running it in plain C++.
#include "export/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "checkpoint/expr.h"
#include "export/metadata_of.h"
#include "ir/eval.h"
#include "runtime/input_defaults.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

bool is_cache(const std::string& leaf) { return argument_of(leaf) == "past_key_values"; }

/// The inputs of a graph as a runner describes them, for the defaults that runners fill in.
std::vector<IoSpec> specs_of(const ExportedProgram& program) {
  std::vector<IoSpec> specs;
  for (const Node* input : program.graph->inputs()) {
    IoSpec spec{input->name, input->types[0].dtype, {}};
    for (Sym size : input->types[0].shape)
      spec.dims.push_back(size.is_const() ? DimSpec{size.value(), ""} : DimSpec{-1, size.str()});
    specs.push_back(std::move(spec));
  }
  return specs;
}

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

std::vector<std::pair<std::string, Tensor>> PreTrainedModel::operator()(
    const Inputs& inputs) const {
  PreparedInputs prepared = prepare_for_export(*this, inputs);
  if (!prepared.dropped.empty())
    log::warning(fmt::format("inputs that {} does not take are dropped: {}", architecture(),
                             fmt::join(prepared.dropped, ", ")));
  const ExportedProgram program = build(*this, build_options(*this, prepared.inputs));
  const std::vector<IoSpec> specs = specs_of(program);
  if (const auto layout = token_layout(specs, prepared.inputs)) {
    check_mask_shape(specs, prepared.inputs, *layout, "model");
    prepared.inputs = with_defaults(specs, prepared.inputs, *layout);
  }
  std::map<std::string, Tensor> results = evaluate(*program.graph, prepared.inputs);
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const Output& output : program.graph->outputs())
    outputs.emplace_back(output.name, std::move(results.at(output.name)));
  return outputs;
}

}  // namespace slipway

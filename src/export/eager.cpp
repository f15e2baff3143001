// Calling a model: in libtorch where that is there, in plain C++ otherwise.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "export/build.h"
#include "ir/eval.h"
#include "runtime/input_defaults.h"
#include "runtime/plugin.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

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

Outputs run_plainly(const ExportedProgram& program, const Inputs& inputs) {
  std::map<std::string, Tensor> results = evaluate(*program.graph, inputs);
  Outputs outputs;
  for (const Output& output : program.graph->outputs())
    outputs.emplace_back(output.name, std::move(results.at(output.name)));
  return outputs;
}

/// The model as a program of PyTorch whose inputs are those given. One is kept for each set.
const ExportedModel& eager_program(const PreTrainedModel& model, const Inputs& inputs) {
  std::string names;
  for (const auto& [name, tensor] : inputs) names += name + " ";
  EagerPrograms& kept = *model.impl().eager;
  const std::lock_guard lock(kept.mutex);
  std::unique_ptr<ExportedModel>& program = kept.programs[names];
  if (program == nullptr) {
    DynamoConfig config;
    config.dynamic = true;
    program = std::make_unique<ExportedModel>(DynamoExporter().export_model(model, inputs, config));
  }
  return *program;
}

/// Whether libtorch computes. Without it kBest says so once a process.
bool has_libtorch(Evaluator evaluator) {
  if (evaluator == Evaluator::kPlain) return false;
  try {
    Plugin::load("dynamo").runtime();
    return true;
  } catch (const Error& error) {
    if (evaluator == Evaluator::kLibtorch || error.kind() != kEnvironment) throw;
    static const bool said = [&] {
      log::info(fmt::format("models are called in plain C++: {}", error.what()));
      return true;
    }();
    return !said;
  }
}

}  // namespace

Outputs PreTrainedModel::operator()(const Inputs& inputs, Evaluator evaluator) const {
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
  if (!has_libtorch(evaluator)) return run_plainly(program, prepared.inputs);
  return eager_program(*this, prepared.inputs)(prepared.inputs);
}

}  // namespace slipway

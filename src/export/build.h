// Building a model's graph for example inputs.
#pragma once

#include "export/impl.h"
#include "slipway/configs.h"

namespace slipway {

/// The choices that example inputs stand for: which inputs the graph has, and its cache by the
/// leaves of past_key_values (keys grow; cumulative_length makes it static, without keys fresh).
models::BuildOptions build_options(const PreTrainedModel& model, const Inputs& inputs);

/// Example inputs of an export and the graph's choices that follow from them and a configuration.
struct PreparedBuild {
  Inputs inputs;
  models::BuildOptions options;
};

/// Warns of inputs that the model does not take. Throws what prepare_for_export() and
/// resolve_dims() throw.
PreparedBuild prepare_build(const PreTrainedModel& model, const Inputs& inputs,
                            const ExportConfig& config);

ExportedProgram build(const PreTrainedModel& model, const models::BuildOptions& options);

}  // namespace slipway

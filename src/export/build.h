// Building a model's graph for example inputs.
#pragma once

#include "export/impl.h"

namespace slipway {

/// The choices that example inputs stand for: which inputs the graph has, and its cache by the
/// leaves of past_key_values (keys grow; cumulative_length makes it static, without keys fresh).
models::BuildOptions build_options(const PreTrainedModel& model, const Inputs& inputs);

ExportedProgram build(const PreTrainedModel& model, const models::BuildOptions& options);

}  // namespace slipway

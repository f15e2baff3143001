// The model types of this build, and building a program from a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace slipway::models {

/// Every model type, sorted by name.
std::vector<const ModelType*> model_types();

/// The row of a config's model_type. Error{kUnsupported} names it and what is supported.
const ModelType& find_model(const Config& config);

/// A task and the head that serves it.
struct ResolvedTask {
  std::string task;  ///< never "auto"
  const Head* head = nullptr;
  CacheKind cache = CacheKind::kNone;
};

/// Resolves "auto" by the config's `architectures` (a causal LM becomes text-generation-with-past)
/// and checks that the model type has the task. Error{kUnsupported} lists its tasks.
ResolvedTask resolve_task(const ModelType& model, const Config& config, const std::string& task);

/// Builds the program and audits the checkpoint: nothing is returned unless every weight was found
/// with its exact shape. Reads no weights.
ExportedProgram build_program(const Checkpoint& checkpoint, const ResolvedTask& task,
                              const BuildOptions& options);

}  // namespace slipway::models

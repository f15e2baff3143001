// From the flags of `slipway export` to a model, example inputs and a configuration.
#pragma once

#include <optional>
#include <string>

#include "slipway/exporter.h"

namespace slipway::cli {

struct ExportOptions {
  std::string checkpoint, out;
  std::string format = "onnx", task = "auto", dtype = "fp32";
  std::string layout = "slipway";
  std::string dynamic_shapes;  ///< JSON, or @FILE
  bool is_static = false;
  std::optional<int64_t> batch_size, sequence_length;
  std::optional<int64_t> opset;
  std::optional<bool> validate;
  std::vector<std::string> disabled_passes;
  bool dry_run = false;
  bool generation = false, multi_token_decode = false;
  std::optional<int64_t> static_cache;  ///< slots
};

/// The flags' consistency. Throws Error{kUsage} naming the flags.
void check_options(const ExportOptions& options);

/// Opens the checkpoint for the task. "auto" under --static means text-generation for a causal LM,
/// since a cache of fixed size would serve a single step. Throws Error{kUnsupported} for
/// text-generation-with-past under --static.
PreTrainedModel open_model(const ExportOptions& options);

/// The exported model; no weight is read.
ExportedModel export_graphs(const PreTrainedModel& model, const ExportOptions& options);

}  // namespace slipway::cli

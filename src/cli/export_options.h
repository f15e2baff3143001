// From the flags of `slipway export` to a model, example inputs and a configuration.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/tracer.h"
#include "export/impl.h"
#include "slipway/exporter.h"

namespace slipway::cli {

struct ExportOptions {
  std::string checkpoint, out;
  std::string format;  ///< empty: that of the layout
  std::string task = "auto", dtype = "fp32";
  std::string layout = "slipway";
  std::string dynamic_shapes;  ///< JSON, or @FILE
  bool is_static = false;
  bool defer_asserts = false;  ///< prefer_deferred_runtime_asserts_over_guards
  std::optional<int64_t> batch_size, sequence_length;
  std::optional<int64_t> opset;
  std::optional<bool> validate;
  std::vector<std::string> disabled_passes;
  bool dry_run = false;
  bool compress_to_fp16 = false, stateless = false;  ///< of OpenVINO
  std::string backend;  ///< of ExecuTorch, as the next; empty: its default
  bool no_alloc_input = false, no_alloc_output = false, no_alloc_buffers = false;
  bool single_file = false;
  bool generation = false, multi_token_decode = false;
  std::optional<int64_t> static_cache;  ///< slots
  bool allow_python = false;
  TraceOptions trace;  ///< with allow_python; the model and the task are filled in
};

/// An export that is not written yet, and what to call its source.
struct ExportedSource {
  ExportedModel model;
  std::string architecture, task;
  std::shared_ptr<const TemporaryDirectory> traced;  ///< holds the weights of a traced program
  /// The same source exported to PyTorch, to compare with; empty where names differ.
  std::function<ExportedModel()> eager;
  bool is_program = false;    ///< traced, by whomever
  bool is_quantized = false;  ///< a traced program that a quantizer changed
};

/// Opens the checkpoint, or the program that torch.export saved (a .pt2 file), and exports it; no
/// weight is read. A model type without a native file is traced where Python is allowed. Throws
/// Error{kUsage} for flags that do not go together, Error{kUnsupported} for
/// text-generation-with-past under --static.
ExportedSource export_source(const ExportOptions& options);

}  // namespace slipway::cli

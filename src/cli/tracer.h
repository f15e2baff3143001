// Traces models with the user's own Python and PyTorch.
#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace slipway::cli {

/// What is traced, and how.
struct TraceOptions {
  std::string model;               ///< a checkpoint folder, or an id of the hub
  std::string python = "python3";  ///< an interpreter that has torch and transformers
  std::string task = "auto", dtype = "fp32";
  std::string inputs;  ///< keyword arguments as safetensors; empty: made up
  int64_t batch_size = 2, sequence_length = 8;
  bool is_static = false;
};

/// Runs the script that is part of this program (python/slipway_trace.py) in the interpreter, with
/// the network of the caller's environment; it writes an export in the reference's form to
/// `folder`: model.pt2, export.json, config.json, tokenizer files. Nothing of the checkpoint is
/// executed (trust_remote_code is off, weights are safetensors). Throws Error{kEnvironment} for a
/// missing interpreter or package, Error{kInvalid} for a model that does not load,
/// Error{kUnsupported} for one that cannot be traced, each with the script's own words.
void trace_model(const TraceOptions& options, const std::filesystem::path& folder);

/// --python and --inputs.
void add_trace_options(CLI::App& command, TraceOptions& options);

}  // namespace slipway::cli

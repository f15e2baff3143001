// Writes a graph of ONNX ops as model.onnx and model.onnx.data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/data_file.h"
#include "ir/program.h"

namespace slipway::onnx {

struct WriteOptions {
  int64_t opset_version = 20;
  std::string graph_name = "main_graph";
  /// Free-form model metadata; ranges and dimensions are added by the writer.
  std::map<std::string, std::string> metadata;
  /// Initializers of at least this many bytes go to the data file.
  int64_t external_threshold = 1024;
  /// Inputs that callers may leave out, by leaf name, and what they are then: initializers of the
  /// input's name, which runtimes let callers override.
  std::map<std::string, Tensor> input_defaults;
  /// The data file's name; empty: `<component>.onnx.data`.
  std::string data_file;
  /// A data file ends before it passes this many bytes, and `<data_file>_1` follows, and so on.
  int64_t max_data_bytes = INT64_MAX;
};

/// What was or would be written, in bytes.
struct WriteSummary {
  int64_t model_bytes = 0, data_bytes = 0;
  int64_t nodes = 0, initializers = 0;
  std::vector<std::string> data_files;  ///< names, in order; none where everything is inline
};

/// `component.onnx.data`.
std::string data_file_name(const std::string& component);

/// Writes `folder/component.onnx` only. Its weights get places in `data`, which the caller writes
/// under the name that options.data_file gives: components that share weights share the file.
WriteSummary write_graph(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                         const std::filesystem::path& folder, const std::string& component,
                         const WriteOptions& options, DataFile& data);

/// Writes `folder/component.onnx` and, when anything is external, its data file beside it.
/// Weights are streamed in pieces by all cores; nothing is gathered. The same program gives the
/// same bytes. `ranges` become the metadata `slipway.ranges`, bounds of symbols `slipway.dims`
/// (FORMAT.md).
WriteSummary write(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                   const std::filesystem::path& folder, const std::string& component,
                   const WriteOptions& options);

/// The sizes that write_graph() would give, without writing; data_bytes is the size of `data`
/// afterwards.
WriteSummary measure(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const std::string& component, const WriteOptions& options, DataFile& data);

/// The lowest IR version that an opset may be declared with (onnx's version table).
int64_t ir_version_of(int64_t opset_version);

}  // namespace slipway::onnx

// Writes a graph of OpenVINO ops as openvino_model.xml and openvino_model.bin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/data_file.h"
#include "ir/program.h"

namespace slipway::openvino {

struct WriteOptions {
  std::string graph_name = "Model0";
  /// Entries of the file's `slipway` information, by name; ranges and dimensions are added by the
  /// writer.
  std::map<std::string, std::string> metadata;
  /// The sizes that variables begin with, by id.
  std::map<std::string, SymShape> variables;
  /// What plug-ins are told to compute in: "f32", "f16", "bf16".
  std::string precision = "f32";
};

/// What was or would be written, in bytes.
struct WriteSummary {
  int64_t model_bytes = 0, data_bytes = 0;
  int64_t nodes = 0, constants = 0;
};

/// Writes `folder/openvino_<component>.xml` and `.bin`, IR version 11. Weights are streamed in
/// pieces by all cores; nothing is gathered. One Lazy object is stored once. The same program gives
/// the same bytes. `ranges` and the bounds of symbols become rt_info (FORMAT.md).
WriteSummary write(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                   const std::filesystem::path& folder, const std::string& component,
                   const WriteOptions& options);

/// The sizes that write() would give, without writing.
WriteSummary measure(const Graph& graph, const std::map<std::string, ValueRange>& ranges,
                     const WriteOptions& options);

}  // namespace slipway::openvino

// Writes a program as a .pt2 file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "backends/dynamo/sample_inputs.h"
#include "backends/dynamo/serialize.h"
#include "ir/program.h"

namespace slipway::dynamo {

struct WriteOptions {
  SerializeOptions program;
  /// The example call by leaf name, for `example_inputs`. Leaves that are not here are zeros of the
  /// sizes that program.example_sizes gives.
  std::map<std::string, SampleLeaf> example;
  /// The ranges of integer inputs' elements, by leaf name: the text file slipway.ranges.
  std::map<std::string, ValueRange> ranges;
  /// Further text files below extra/, by name: torch.export.load gives them to who asks.
  std::map<std::string, std::string> extra;
};

/// What was or would be written, in bytes.
struct WriteSummary {
  int64_t file_bytes = 0, weight_bytes = 0, nodes = 0;
};

/// Writes `folder/component.pt2` as torch.export.save lays it out (FORMAT.md). Weights are streamed
/// in pieces by all cores, each one once. The same program gives the same bytes. Throws what
/// serialize() and the file system throw.
WriteSummary write(const Graph& graph, const std::filesystem::path& folder,
                   const std::string& component, const WriteOptions& options);

/// The sizes that write() would give.
WriteSummary measure(const Graph& graph, const std::string& component, const WriteOptions& options);

}  // namespace slipway::dynamo

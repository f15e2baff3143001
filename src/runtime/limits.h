// What a graph's inputs may hold: value ranges of ids and size ranges of dimensions.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace slipway {

/// Inclusive.
struct Range {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();

  bool contains(int64_t value) const { return value >= min && value <= max; }
  /// "0 to 127", "at least 1".
  std::string text() const;
};

/// Limits checked before a run. Graphs that Slipway wrote carry theirs; for others the caller takes
/// them from config.json (vocab_size, type_vocab_size, max_position_embeddings).
struct RunnerLimits {
  std::map<std::string, Range> values;  ///< integer inputs by leaf name: {"input_ids": 0 to 127}
  std::map<std::string, Range> dims;  ///< dimension names, or sums of them: {"sequence_length": ..}
  std::optional<int64_t> max_positions;  ///< cached plus new tokens that the position table holds

  /// Reads the graph metadata `slipway.ranges` and `slipway.dims`: JSON objects of [min, max], max
  /// may be null. Throws Error{kInvalid} naming `where` and the key when they are malformed.
  static RunnerLimits from_metadata(const std::map<std::string, std::string>& metadata,
                                    std::string_view where);

  /// These limits, completed by `other` where they say nothing.
  RunnerLimits merged(const RunnerLimits& other) const;
};

}  // namespace slipway

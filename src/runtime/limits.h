// What a graph's inputs may hold: value ranges of ids and size ranges of dimensions.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// Inclusive.
struct Range {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();

  bool contains(int64_t value) const { return value >= min && value <= max; }
  /// "0 to 127", "at least 1".
  std::string text() const;
};

/// Heads of a cache's keys and values, and the sizes of one.
struct CacheHeads {
  int64_t heads = 0, key_size = 0, value_size = 0;
};

/// Limits checked before a run. Graphs that Slipway wrote carry theirs; for others the caller takes
/// them from config.json (vocab_size, type_vocab_size, max_position_embeddings).
struct RunnerLimits {
  std::map<std::string, Range> values;  ///< integer inputs by leaf name: {"input_ids": 0 to 127}
  std::map<std::string, Range> dims;  ///< dimension names, or sums of them: {"sequence_length": ..}
  /// The highest sizes of inputs and outputs by leaf name, of graphs that give sizes no names.
  std::map<std::string, std::vector<int64_t>> sizes;
  std::optional<CacheHeads> cache_heads;  ///< of config.json, for graphs that fix no sizes
  std::optional<int64_t> max_positions;   ///< cached plus new tokens that the position table holds

  /// Reads the graph metadata `slipway.ranges` and `slipway.dims`: JSON objects of [min, max], max
  /// may be null; and `slipway.sizes`, lists of numbers. Throws Error{kInvalid} naming `where` and
  /// the key when they are malformed.
  static RunnerLimits from_metadata(const std::map<std::string, std::string>& metadata,
                                    std::string_view where);

  /// These limits, completed by `other` where they say nothing.
  RunnerLimits merged(const RunnerLimits& other) const;
};

}  // namespace slipway

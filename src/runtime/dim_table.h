// One value for every dimension name of a call, over all its inputs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/limits.h"
#include "runtime/session.h"

namespace slipway {

/// Collects the sizes of a call's inputs and finds contradictions. Messages begin with `[where]`.
class DimTable {
 public:
  explicit DimTable(std::string where) : where_(std::move(where)) {}

  /// Checks rank and fixed sizes of one input and unifies its symbolic ones. Throws Error{kInvalid}
  /// naming the dimension, both inputs and their sizes. A spec without dimensions is not checked.
  void add(const std::string& input, const IoSpec& spec, const Shape& shape);

  /// Checks sums such as "past_sequence_length + sequence_length" whose terms are all known.
  void check_sums() const;

  /// Checks the sizes of names, and of sums of names, against ranges.
  void check_ranges(const std::map<std::string, Range>& ranges) const;

  /// The size that a dimension has in this call, where it is known.
  std::optional<int64_t> size_of(const DimSpec& dim) const;

 private:
  struct Entry {
    int64_t size;
    std::string input;
    size_t axis;
  };

  std::optional<int64_t> evaluate(const std::string& expression) const;

  std::string where_;
  std::map<std::string, Entry> known_;  ///< by name, or by the text of a sum
};

}  // namespace slipway

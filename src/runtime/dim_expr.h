// Sums of dimension names, as graphs write them: "past_sequence_length + sequence_length", "s36 +
// 1".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// A sum or difference of names and integers.
class DimExpr {
 public:
  /// Nothing for text that is not such a sum (products, calls, an empty string).
  static std::optional<DimExpr> parse(std::string_view text);

  /// One name alone.
  bool is_symbol() const;
  /// The value, or nothing when a name is unknown or the sum overflows.
  std::optional<int64_t> evaluate(
      const std::function<std::optional<int64_t>(const std::string&)>& lookup) const;

 private:
  struct Term {
    bool negative;
    std::string name;
  };

  std::vector<Term> terms_;
  int64_t constant_ = 0;
};

}  // namespace slipway

// The sizes that a method takes and gives, as expressions over symbols.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/executorch/read.h"
#include "ir/sym.h"

namespace slipway::executorch_runner {

/// Sizes of one run. The runtime looks at numbers of elements only, so a shape that is wrong but
/// not larger than the bound would pass it.
class Shapes {
 public:
  /// Throws Error{kInvalid} for bounds that are malformed. Expressions that are not understood are
  /// sizes that nothing is known about.
  Shapes(const executorch::MethodOutline& method, std::string where);

  /// The names of symbols and their bounds, as they are in the file.
  const std::map<std::string, Sym>& symbols() const { return symbols_; }

  /// Checks the shapes of all inputs, in order: ranks, fixed sizes, upper bounds, and that symbols
  /// and expressions have one value. Throws Error{kInvalid} naming input, dimension and limit.
  /// Gives the shapes of the outputs; nothing where a size is not known before the run.
  std::vector<std::optional<Shape>> bind(std::span<const Shape> inputs) const;

 private:
  using Dims = std::vector<std::optional<Sym>>;
  Dims parse(const executorch::Port& port) const;
  void check_bounds(size_t input, const Shape& shape) const;
  [[noreturn]] void fail(const std::string& what) const;

  const executorch::MethodOutline& method_;
  std::string where_;
  std::map<std::string, Sym> symbols_;
  std::vector<Dims> inputs_, outputs_;
};

}  // namespace slipway::executorch_runner

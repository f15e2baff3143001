// The shared node behind a symbolic integer; private to src/ir.
#pragma once

#include "ir/sym.h"

namespace slipway {
namespace detail {

struct SymNode {
  SymKind kind;
  int64_t value = 0;  ///< of a constant; the lower bound of a symbol
  int64_t hi = 0;     ///< the upper bound of a symbol
  std::string name;   ///< of a symbol
  std::vector<Sym> args;
  std::string text;

  /// The one node equal to `node`.
  static Sym intern(SymNode node);
};

}  // namespace detail

/// The quotient rounded down; b is not 0.
inline int64_t floor_division(int64_t a, int64_t b) {
  if (b == -1) return a == std::numeric_limits<int64_t>::min() ? Sym::kUnbounded : -a;
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace slipway

// Symbolic integers: sizes of dimensions as expressions over named, bounded symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slipway/error.h"

namespace slipway {

enum class SymKind : uint8_t { kConst, kSymbol, kAdd, kMul, kFloorDiv, kMod, kMin, kMax };

namespace detail {
struct SymNode;
}

/// An integer expression in canonical form: sums of products with combined coefficients, products
/// expanded. Equal expressions are one shared immutable node (hash-consed for the whole process),
/// so comparing is comparing pointers. Cheap to copy; thread-safe.
///
/// A symbol is its name and its bounds: two symbols of one name and other bounds differ.
class Sym {
 public:
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  struct Bounds {
    int64_t lo, hi;  ///< inclusive; hi may be kUnbounded, lo may be -kUnbounded
    bool operator==(const Bounds&) const = default;
  };

  Sym() : Sym(0) {}
  Sym(int64_t value);  // NOLINT: sizes are written as plain numbers everywhere
  Sym(int value) : Sym(static_cast<int64_t>(value)) {}  // NOLINT
  /// Throws Error{kInvalid} when the name is not an identifier or lo > hi.
  static Sym symbol(const std::string& name, int64_t lo = 0, int64_t hi = kUnbounded);

  SymKind kind() const;
  bool is_const() const { return kind() == SymKind::kConst; }
  bool is_const(int64_t value) const { return is_const() && this->value() == value; }
  bool is_symbol() const { return kind() == SymKind::kSymbol; }
  /// The number of a constant; asserts is_const().
  int64_t value() const;
  /// The name of a symbol; asserts is_symbol().
  const std::string& name() const;
  /// Operands of a sum, product, quotient, ...
  const std::vector<Sym>& args() const;

  /// A sound range of the values, from the symbols' bounds.
  Bounds bounds() const;
  /// "past_sequence_length + sequence_length", "2*b*s + 1", "s // 4", "min(a, b)".
  const std::string& str() const;
  /// The symbols inside, each once, sorted by name.
  std::vector<Sym> symbols() const;

  /// Replaces symbols by name.
  Sym substitute(const std::map<std::string, Sym>& values) const;
  /// The number for given symbol values; Error{kInvalid} names a symbol that is missing.
  int64_t evaluate(const std::map<std::string, int64_t>& values) const;

  friend bool operator==(Sym a, Sym b) { return a.node_ == b.node_; }
  friend Sym operator+(Sym a, Sym b);
  friend Sym operator-(Sym a, Sym b);
  friend Sym operator*(Sym a, Sym b);

 private:
  friend struct detail::SymNode;
  explicit Sym(const detail::SymNode* node) : node_(node) {}
  const detail::SymNode* node_;
};

/// Division rounded down, as Python's `//`. A constant zero divisor is Error{kInvalid}.
Sym floordiv(Sym a, Sym b);
/// The remainder with the divisor's sign, as Python's `%`.
Sym mod(Sym a, Sym b);
Sym min(Sym a, Sym b);
Sym max(Sym a, Sym b);

/// True when a <= b for all values of the symbols, as far as bounds can tell.
bool known_le(Sym a, Sym b);
/// True when a != b for all values, as far as bounds can tell.
bool known_ne(Sym a, Sym b);

/// Parses what str() prints. `lookup` gives the symbol of a name, or nullopt (an error then).
Sym parse_sym(std::string_view text,
              const std::function<std::optional<Sym>(std::string_view)>& lookup);

using SymShape = std::vector<Sym>;

/// The product of all sizes.
Sym numel(const SymShape& shape);
/// "[batch_size, sequence_length, 64]".
std::string shape_string(const SymShape& shape);

}  // namespace slipway

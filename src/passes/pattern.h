// Patterns of rewrite rules: expressions over wildcards, written with the notation of ir/build.h.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// The word in a pattern's argument that matches everything; see Pattern::ignored().
inline constexpr std::string_view kIgnoredArg = "pattern::ignored";

/// Builds one pattern. A pattern is itself a graph (docs/decisions/0003-pattern-rewriter.md), and
/// its root is the value that the rule's function returns. There are two kinds:
///
/// - Written by hand over any(): an untyped graph. Operators and functions that only emit a node
///   work on it; those that look at types (to, lowest, full_like, layer_norm, ...) stop with
///   Error{kInternal}: write op("aten::_to_copy", ...) instead. Every argument is compared.
/// - From the body of an op over example(): a typed graph. It stands for all shapes and dtypes, so
///   sizes, axes and dtypes are not compared; Match::raise() proves the match afterwards.
class Pattern {
 public:
  /// A rule may describe several alternatives; `variant` picks one through choose().
  explicit Pattern(int variant = 0) : variant_(variant) {}

  /// Matches every value; the same name matches the same value.
  Value any(const std::string& name);
  /// Matches constants only.
  Value constant(const std::string& name);
  /// Matches every value, and has a type for the bodies that look at it.
  Value example(const std::string& name, ValueType type);

  /// Matches a number argument. The same name matches the same number.
  double scalar(const std::string& name);
  /// Matches an integer argument; expressions over it match what they evaluate to.
  Sym size(const std::string& name);
  /// Matches a whole list of integers.
  std::vector<Sym> sizes(const std::string& name);

  /// Matches a dtype argument.
  DType dtype(const std::string& name);
  /// Matches whatever stands in an argument that says nothing about values (a memory format).
  static OpArg ignored();

  Value op(std::string_view name, std::initializer_list<OpArg> args);
  /// The body of an op over examples, scalars and sizes.
  Value body(std::string_view name, std::initializer_list<OpArg> args);

  /// A number in [0, count) that depends on the variant; Match::choice() gives it again.
  int choose(const std::string& name, int count);

  enum class Wildcard : uint8_t { kNone, kAny, kConstant };
  Wildcard wildcard(const Node& node) const;
  /// The name of the wildcard behind a number or a symbol, or null.
  const std::string* scalar_name(double value) const;
  const std::string* size_name(Sym value) const;
  const std::string* sizes_name(const std::vector<Sym>& value) const;
  const std::string* dtype_name(DType value) const;
  const std::map<std::string, int>& choices() const { return choices_; }

 private:
  Value add_wildcard(Graph& graph, const std::string& name, ValueType type, Wildcard kind);

  Graph by_hand_{Typing::kUntyped};
  Graph from_body_;
  std::map<const Node*, Wildcard> wildcards_;
  std::map<std::string, Value> values_;
  std::map<double, std::string> scalars_;
  std::map<std::string, std::string> sizes_;  ///< symbol -> wildcard
  std::map<std::string, std::string> lists_;  ///< symbol -> wildcard
  std::map<DType, std::string> dtypes_;
  std::map<std::string, int> choices_;
  int variant_;
};

}  // namespace slipway

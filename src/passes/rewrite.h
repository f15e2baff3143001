// Rewrite rules: pattern, check with reasons, replacement.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "passes/matcher.h"
#include "passes/pass.h"

namespace slipway {

/// A place where a rule's pattern was found. Wildcards are read by the names of the pattern; asking
/// for one that the pattern does not have is Error{kInternal}.
class Match {
 public:
  Match(std::string_view rule, const Pattern& pattern, Bindings found, Value root,
        PassContext& context)
      : rule_(rule), pattern_(pattern), found_(std::move(found)), root_(root), context_(context) {}

  Value operator[](const std::string& name) const;
  /// Undefined when this alternative of the pattern does not have the wildcard.
  Value optional(const std::string& name) const { return has(name) ? (*this)[name] : Value(); }
  bool has(const std::string& name) const { return found_.values.count(name) != 0; }
  double scalar(const std::string& name) const;
  Sym size(const std::string& name) const;
  const std::vector<Sym>& sizes(const std::string& name) const;
  DType dtype(const std::string& name) const;
  int choice(const std::string& name) const;

  /// The value to be replaced.
  Value root() const { return root_; }
  Graph& graph() const { return root_.graph(); }

  /// Says why the rule does not apply here.
  std::nullopt_t fail(const std::string& message, Value at) const;
  std::nullopt_t fail(const std::string& message) const { return fail(message, root_); }

  template <class... A>
  Value emit(std::string_view op, const A&... args) const {
    return graph().emit(op, {OpArg(args)...});
  }

  /// Emits an op whose body is what the pattern was made of, and proves it: the body for these very
  /// arguments must be the expression under root(). Fails with a reason otherwise.
  std::optional<Value> raise(std::string_view op, std::initializer_list<OpArg> args) const;

 private:
  const Arg& arg(const std::string& name) const;

  std::string_view rule_;
  const Pattern& pattern_;
  Bindings found_;
  Value root_;
  PassContext& context_;
};

/// May nodes inside a match be used from outside of it? They are then computed twice.
enum class Interior : uint8_t { kShared, kSingleUse };

/// One rewrite. `rewrite` gives the value that stands in for the root, of the same type, or nothing
/// with a reason from Match::fail.
struct Rule {
  std::string_view name;
  Value (*pattern)(Pattern&);
  std::optional<Value> (*rewrite)(Match&);
  int variants = 1;  ///< alternatives that the pattern chooses from
  Interior interior = Interior::kShared;
};

/// Which of several rules that apply goes first.
enum class Precedence : uint8_t {
  kListed,        ///< operands before users; at one node the earlier rule
  kLargestFirst,  ///< the alternative with the largest pattern, wherever in the graph
};

/// Applies the rules until none does. Drops dead nodes. A replacement of another type is refused
/// with a reason. Returns the number of rewrites. Rules that never come to rest are
/// Error{kInternal}.
int64_t apply_rules(Graph& graph, std::span<const Rule> rules, PassContext& context,
                    Precedence precedence = Precedence::kListed);

}  // namespace slipway

// Compares a pattern with the expression under a value.
#include "passes/matcher.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "passes/arguments.h"

namespace slipway {
namespace {

/// Values that must match yet: pattern, actual.
using Goals = std::vector<std::pair<Value, Value>>;

std::optional<double> as_number(const Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* b = std::get_if<bool>(&arg)) return *b ? 1.0 : 0.0;
  if (const auto* s = std::get_if<Sym>(&arg); s != nullptr && s->is_const())
    return static_cast<double>(s->value());
  return std::nullopt;
}

bool same_number(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::abs(a - b) <= 6e-8 * std::max(std::abs(a), std::abs(b));
}

/// In a pattern from a body: a number computed from a scalar wildcard (1 / softcap) is as far out
/// as the wildcard. What it must be is for Match::raise() to prove.
bool is_derived(double number) {
  return number != 0 && (std::abs(number) < 1e-20 || std::abs(number) > 1e20);
}

bool same_contents(const Node& a, const Node& b) {
  if (a.types != b.types || a.data == nullptr || b.data == nullptr) return false;
  if (a.data == b.data) return true;
  const Tensor left = materialize(*a.data), right = materialize(*b.data);
  return std::memcmp(left.data(), right.data(), static_cast<size_t>(left.nbytes())) == 0;
}

class Search {
 public:
  /// `loose` patterns come from a body: see Pattern.
  Search(const Pattern& pattern, bool loose) : pattern_(pattern), loose_(loose) {}

  /// Depth-first with backtracking where an op commutes. Goals and bindings are copied at a choice
  /// only; patterns have a few dozen nodes.
  bool solve(Goals goals, Bindings& found) {
    while (!goals.empty()) {
      const auto [want, have] = goals.back();
      goals.pop_back();
      if (want == have) continue;  // a shared leaf of same_expression
      if (const auto kind = pattern_.wildcard(*want.node()); kind != Pattern::Wildcard::kNone) {
        if (!bind_value(kind, want.node()->name, have, found)) return false;
        continue;
      }
      const auto [at, added] = found.nodes.try_emplace(want.node(), have.node());
      if (at->second != have.node() || want.index() != have.index()) return false;
      if (!added) continue;
      if (want.node()->kind != have.node()->kind) return false;
      if (want.node()->kind == NodeKind::kConstant) {
        if (!same_contents(*want.node(), *have.node())) return false;
        continue;
      }
      if (want.node()->kind != NodeKind::kOp || want.node()->op != have.node()->op) return false;
      if (commutes(*want.node()->op, want.node()->args) &&
          commutes(*have.node()->op, have.node()->args))
        return solve_either_way(goals, *want.node(), *have.node(), found);
      if (!match_args(*want.node(), *have.node(), 0, goals, found)) return false;
    }
    return equations_hold(found);
  }

 private:
  bool solve_either_way(const Goals& goals, const Node& want, const Node& have, Bindings& found) {
    for (const bool swapped : {false, true}) {
      Goals more = goals;
      Bindings trial = found;
      const auto equations = equations_.size();
      const Value a = std::get<Value>(have.args[0]), b = std::get<Value>(have.args[1]);
      more.emplace_back(std::get<Value>(want.args[1]), swapped ? a : b);
      more.emplace_back(std::get<Value>(want.args[0]), swapped ? b : a);
      if (match_args(want, have, 2, more, trial) && solve(std::move(more), trial)) {
        found = std::move(trial);
        return true;
      }
      equations_.resize(equations);
    }
    return false;
  }

  bool bind_value(Pattern::Wildcard kind, const std::string& name, Value have, Bindings& found) {
    if (kind == Pattern::Wildcard::kConstant && have.node()->kind != NodeKind::kConstant)
      return false;
    return found.values.try_emplace(name, have).first->second == have;
  }

  bool bind_arg(const std::string& name, const Arg& have, Bindings& found) {
    return found.args.try_emplace(name, have).first->second == have;
  }

  bool match_args(const Node& want, const Node& have, size_t first, Goals& goals, Bindings& found) {
    // Operands are pushed last to first, so that they are matched left to right.
    for (size_t i = want.args.size(); i-- > first;)
      if (!match_arg(canonical_arg(have, i, want.args[i]), canonical_arg(have, i, have.args[i]),
                     goals, found))
        return false;
    return true;
  }

  bool match_arg(const Arg& want, const Arg& have, Goals& goals, Bindings& found) {
    if (const auto* value = std::get_if<Value>(&want)) {
      const auto* other = std::get_if<Value>(&have);
      if (other != nullptr) goals.emplace_back(*value, *other);
      return other != nullptr;
    }
    if (const auto* values = std::get_if<std::vector<Value>>(&want)) {
      const auto* others = std::get_if<std::vector<Value>>(&have);
      if (others == nullptr || others->size() != values->size()) return false;
      for (size_t i = values->size(); i-- > 0;) goals.emplace_back((*values)[i], (*others)[i]);
      return true;
    }
    if (const auto* number = std::get_if<double>(&want)) {
      const std::optional<double> other = as_number(have);
      if (!other) return false;
      if (const std::string* name = pattern_.scalar_name(*number))
        return bind_arg(*name, *other, found);
      return same_number(*number, *other) || (loose_ && is_derived(*number));
    }
    if (const auto* list = std::get_if<std::vector<Sym>>(&want))
      return match_list(*list, have, found);
    if (const auto* size = std::get_if<Sym>(&want)) return match_size(*size, have, found);
    if (const auto* dtype = std::get_if<DType>(&want)) {
      if (!std::holds_alternative<DType>(have)) return false;
      if (const std::string* name = pattern_.dtype_name(*dtype))
        return bind_arg(*name, have, found);
      return loose_ || want == have;
    }
    if (const auto* word = std::get_if<std::string>(&want); word != nullptr && *word == kIgnoredArg)
      return true;
    return want == have;
  }

  bool match_list(const std::vector<Sym>& want, const Arg& have, Bindings& found) {
    const auto* other = std::get_if<std::vector<Sym>>(&have);
    if (other == nullptr) return false;
    if (const std::string* name = pattern_.sizes_name(want)) return bind_arg(*name, *other, found);
    if (loose_) return true;
    if (other->size() != want.size()) return false;
    for (size_t i = 0; i < want.size(); ++i)
      if (!match_size(want[i], (*other)[i], found)) return false;
    return true;
  }

  bool match_size(Sym want, const Arg& have, Bindings& found) {
    const auto* other = std::get_if<Sym>(&have);
    if (other == nullptr) {
      // A number where the schema takes any: 2 and 2.0 mean the same.
      const std::optional<double> number = as_number(have);
      return number && want.is_const() && *number == static_cast<double>(want.value());
    }
    if (const std::string* name = pattern_.size_name(want)) return bind_arg(*name, *other, found);
    if (!loose_) equations_.emplace_back(want, *other);
    return true;
  }

  /// Expressions over size wildcards, compared when all of those are known.
  bool equations_hold(const Bindings& found) const {
    std::map<std::string, Sym> sizes;
    for (const auto& [name, arg] : found.args)
      if (const auto* size = std::get_if<Sym>(&arg)) sizes.emplace("pattern_size_" + name, *size);
    return std::all_of(equations_.begin(), equations_.end(), [&](const auto& equation) {
      return equation.first.substitute(sizes) == equation.second;
    });
  }

  const Pattern& pattern_;
  bool loose_;
  std::vector<std::pair<Sym, Sym>> equations_;
};

}  // namespace

std::optional<Bindings> match(const Pattern& pattern, Value root, Value at) {
  Bindings found;
  Search search(pattern, root.graph().typing() == Typing::kInferred);
  if (!search.solve({{root, at}}, found)) return std::nullopt;
  return found;
}

bool same_expression(Value a, Value b) {
  const Pattern no_wildcards;
  Bindings found;
  return Search(no_wildcards, false).solve({{a, b}}, found);
}

}  // namespace slipway

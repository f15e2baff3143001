// Symbolic arithmetic: canonical sums and products, and the rules of division and extrema.
#include <fmt/format.h>

#include <algorithm>

#include "ir/sym.h"
#include "ir/sym_node.h"

namespace slipway {
namespace {

using detail::SymNode;

constexpr size_t kMaxTerms = 1024;

int64_t checked(__int128 v) {
  if (v > std::numeric_limits<int64_t>::max() || v < std::numeric_limits<int64_t>::min())
    throw Error(kInvalid, "[sym] a size expression overflows 64 bits");
  return static_cast<int64_t>(v);
}

bool is_sum(Sym s) { return s.kind() == SymKind::kAdd; }
bool is_product(Sym s) { return s.kind() == SymKind::kMul; }

/// A term of a sum: coefficient times a product of non-constant factors.
struct Term {
  int64_t coefficient;
  std::vector<Sym> factors;
};

Term split(Sym s) {
  if (s.is_const()) return {s.value(), {}};
  if (!is_product(s)) return {1, {s}};
  const auto& args = s.args();
  if (args[0].is_const()) return {args[0].value(), {args.begin() + 1, args.end()}};
  return {1, args};
}

std::vector<Sym> terms(Sym s) { return is_sum(s) ? s.args() : std::vector<Sym>{s}; }

std::string factors_text(const std::vector<Sym>& factors) {
  std::string text;
  for (Sym f : factors) {
    if (!text.empty()) text += '*';
    const bool compound = f.kind() == SymKind::kFloorDiv || f.kind() == SymKind::kMod || is_sum(f);
    text += compound ? "(" + f.str() + ")" : f.str();
  }
  return text;
}

Sym make_product(int64_t coefficient, std::vector<Sym> factors) {
  if (coefficient == 0) return 0;
  if (factors.empty()) return coefficient;
  std::sort(factors.begin(), factors.end(), [](Sym a, Sym b) { return a.str() < b.str(); });
  if (coefficient == 1 && factors.size() == 1) return factors[0];
  std::string text = factors_text(factors);
  if (coefficient != 1) {
    text = coefficient == -1 ? "-" + text : fmt::format("{}*{}", coefficient, text);
    factors.insert(factors.begin(), Sym(coefficient));
  }
  return SymNode::intern(
      {.kind = SymKind::kMul, .name = {}, .args = std::move(factors), .text = std::move(text)});
}

Sym make_sum(const std::vector<Sym>& parts) {
  std::map<std::string, Term> combined;  // by the text of the factors: a deterministic order
  int64_t constant = 0;
  for (Sym part : parts) {
    Term t = split(part);
    if (t.factors.empty()) {
      constant = checked(static_cast<__int128>(constant) + t.coefficient);
      continue;
    }
    const std::string key = factors_text(t.factors);
    auto [at, fresh] = combined.emplace(key, t);
    if (!fresh)
      at->second.coefficient =
          checked(static_cast<__int128>(at->second.coefficient) + t.coefficient);
  }
  std::vector<Sym> args;
  for (auto& [key, t] : combined)
    if (t.coefficient != 0) args.push_back(make_product(t.coefficient, t.factors));
  if (args.empty()) return constant;
  if (constant == 0 && args.size() == 1) return args[0];
  std::string text = args[0].str();
  if (constant != 0) args.emplace_back(constant);
  for (size_t i = 1; i < args.size(); ++i) {
    const std::string& a = args[i].str();
    text += a[0] == '-' ? " - " + a.substr(1) : " + " + a;
  }
  return SymNode::intern(
      {.kind = SymKind::kAdd, .name = {}, .args = std::move(args), .text = std::move(text)});
}

Sym make_binary(SymKind kind, Sym a, Sym b, std::string text) {
  return SymNode::intern({.kind = kind, .name = {}, .args = {a, b}, .text = std::move(text)});
}

std::string operand(Sym s) { return s.is_const() || s.is_symbol() ? s.str() : "(" + s.str() + ")"; }

/// s / d when every term divides exactly; d is a constant, a symbol or a product.
std::optional<Sym> exact_quotient(Sym s, Sym d) {
  const Term divisor = split(d);
  if (is_sum(d) || divisor.coefficient == 0) return std::nullopt;
  if (divisor.coefficient == -1) return exact_quotient(Sym(-1) * s, Sym(-1) * d);
  std::vector<Sym> parts;
  for (Sym part : terms(s)) {
    Term t = split(part);
    if (t.coefficient % divisor.coefficient != 0) return std::nullopt;
    for (Sym f : divisor.factors) {
      const auto at = std::find(t.factors.begin(), t.factors.end(), f);
      if (at == t.factors.end() || f.bounds().lo <= 0) return std::nullopt;  // may be zero
      t.factors.erase(at);
    }
    parts.push_back(make_product(t.coefficient / divisor.coefficient, t.factors));
  }
  return make_sum(parts);
}

/// s / d for a sum d, by long division; d is known to be positive.
std::optional<Sym> exact_quotient_of_sum(Sym s, Sym d) {
  constexpr int kMaxSteps = 8;
  if (!is_sum(d) || d.bounds().lo <= 0) return std::nullopt;
  const auto degree = [](Sym term) { return split(term).factors.size(); };
  // The highest term that is never zero; terms of others may be, so nothing divides by them.
  std::optional<Sym> lead;
  for (Sym term : terms(d))
    if (term.bounds().lo > 0 && (!lead || degree(term) > degree(*lead))) lead = term;
  if (!lead || lead->is_const()) return std::nullopt;
  const Sym variable = split(*lead).factors[0];
  // In the order of a long division by the lead's variable.
  const auto rank = [&](Sym term) {
    const std::vector<Sym> factors = split(term).factors;
    return std::pair(factors.size(), std::count(factors.begin(), factors.end(), variable));
  };
  Sym quotient = 0, rest = s;
  for (int step = 0; step < kMaxSteps && !rest.is_const(0); ++step) {
    std::optional<Sym> next, from;
    for (Sym term : terms(rest))
      if (const auto q = exact_quotient(term, *lead); q && (!from || rank(term) > rank(*from))) {
        next = q;
        from = term;
      }
    if (!next) return std::nullopt;
    quotient = quotient + *next;
    rest = rest - *next * d;
  }
  if (!rest.is_const(0)) return std::nullopt;
  return quotient;
}

/// (d*x + r) split at a constant d > 1: x, and r with a constant part in [0, d). Nullopt where
/// there is nothing to split off.
std::optional<std::pair<Sym, Sym>> split_multiples(Sym s, Sym d) {
  if (!is_sum(s) || !d.is_const() || d.value() < 2) return std::nullopt;
  Sym multiple = 0, rest = 0;
  for (Sym term : terms(s)) {
    const int64_t coefficient = split(term).coefficient;
    if (term.is_const()) {
      const int64_t q = floor_division(term.value(), d.value());
      multiple = multiple + q;
      rest = rest + (term.value() - q * d.value());
    } else if (coefficient % d.value() == 0) {
      multiple = multiple + make_product(coefficient / d.value(), split(term).factors);
    } else {
      rest = rest + term;
    }
  }
  if (multiple.is_const(0)) return std::nullopt;
  return std::pair(multiple, rest);
}

/// s // d for a d with a factor x // c that leaves no rest and is not zero: (c*s) // (d with x).
std::optional<Sym> quotient_by_chunks(Sym s, Sym d) {
  if (is_sum(d)) return std::nullopt;
  const Term parts = split(d);
  for (size_t i = 0; i < parts.factors.size(); ++i) {
    if (parts.factors[i].kind() != SymKind::kFloorDiv) continue;
    const Sym x = parts.factors[i].args()[0], c = parts.factors[i].args()[1];
    if (!c.is_const() || c.value() < 1 || x.bounds().lo < 1 || !mod(x, c).is_const(0)) continue;
    std::vector<Sym> others = parts.factors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Sym whole = make_product(parts.coefficient, others) * x, scaled = s * c;
    if (const auto k = exact_quotient(scaled, whole)) return k;
    if (const auto k = exact_quotient_of_sum(scaled, whole)) return k;
  }
  return std::nullopt;
}

/// A sum without the remainders inside it that a remainder by d makes superfluous; nullopt where
/// there are none.
std::optional<Sym> without_remainders(Sym s, Sym d) {
  if (!d.is_const() || d.value() < 2) return std::nullopt;
  Sym result = 0;
  bool found = false;
  for (Sym term : terms(s)) {
    const Term parts = split(term);
    const bool one = parts.factors.size() == 1 && parts.factors[0].kind() == SymKind::kMod;
    const Sym by = one ? parts.factors[0].args()[1] : Sym(0);
    if (one && by.is_const() && by.value() > 0 && by.value() % d.value() == 0) {
      result = result + Sym(parts.coefficient % d.value()) * parts.factors[0].args()[0];
      found = true;
    } else {
      result = result + term;
    }
  }
  if (!found) return std::nullopt;
  return result;
}

/// The simplifications of quotients, remainders and extrema, tried in order.
struct Rule {
  SymKind kind;
  const char* says;
  std::optional<Sym> (*apply)(Sym a, Sym b);
};

const Rule kRules[] = {
    {SymKind::kFloorDiv, "(d*x) // d = x", exact_quotient},
    {SymKind::kFloorDiv, "(d*x) // d = x for a sum d", exact_quotient_of_sum},
    {SymKind::kFloorDiv, "(x // c) // d = x // (c*d)",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (a.kind() != SymKind::kFloorDiv || !b.is_const() || !a.args()[1].is_const() ||
           b.value() < 1 || a.args()[1].value() < 1)
         return std::nullopt;
       return floordiv(a.args()[0], a.args()[1] * b);
     }},
    {SymKind::kFloorDiv, "(d*x + r) // d = x + r // d",
     [](Sym a, Sym b) -> std::optional<Sym> {
       const auto parts = split_multiples(a, b);
       if (!parts) return std::nullopt;
       return parts->first + floordiv(parts->second, b);
     }},
    {SymKind::kMod, "(d*x + r) % d = r % d",
     [](Sym a, Sym b) -> std::optional<Sym> {
       const auto parts = split_multiples(a, b);
       if (!parts) return std::nullopt;
       return mod(parts->second, b);
     }},
    {SymKind::kMod, "(x % d + r) % d = (x + r) % d",
     [](Sym a, Sym b) -> std::optional<Sym> {
       const auto plain = without_remainders(a, b);
       if (!plain) return std::nullopt;
       return mod(*plain, b);
     }},
    {SymKind::kFloorDiv, "(k*x) // (x // c) = k*c where x > 0 and x % c = 0", quotient_by_chunks},
    {SymKind::kFloorDiv, "x // d = 0 where 0 <= x < d",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (a.bounds().lo >= 0 && known_le(a + 1, b)) return Sym(0);
       return std::nullopt;
     }},
    {SymKind::kMod, "(d*x) % d = 0",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (exact_quotient(a, b)) return Sym(0);
       return std::nullopt;
     }},
    {SymKind::kMod, "x % d = x where 0 <= x < d",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (a.bounds().lo >= 0 && known_le(a + 1, b)) return a;
       return std::nullopt;
     }},
    {SymKind::kMin, "min(a, b) = a where a <= b",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (b.is_const(Sym::kUnbounded)) return a;
       if (a.is_const(Sym::kUnbounded)) return b;
       if (known_le(a, b)) return a;
       if (known_le(b, a)) return b;
       return std::nullopt;
     }},
    {SymKind::kMax, "max(a, b) = b where a <= b",
     [](Sym a, Sym b) -> std::optional<Sym> {
       if (known_le(a, b)) return b;
       if (known_le(b, a)) return a;
       return std::nullopt;
     }},
};

std::optional<Sym> simplify(SymKind kind, Sym a, Sym b) {
  for (const Rule& rule : kRules)
    if (rule.kind == kind)
      if (const auto result = rule.apply(a, b)) return result;
  return std::nullopt;
}

void check_divisor(Sym b) {
  if (b.is_const(0)) throw Error(kInvalid, "[sym] division of a size by zero");
}

}  // namespace

Sym operator+(Sym a, Sym b) {
  std::vector<Sym> parts = terms(a);
  for (Sym t : terms(b)) parts.push_back(t);
  return make_sum(parts);
}

Sym operator-(Sym a, Sym b) { return a + Sym(-1) * b; }

Sym operator*(Sym a, Sym b) {
  if (terms(a).size() * terms(b).size() > kMaxTerms)
    throw Error(kInvalid, "[sym] a size expression has too many terms");
  std::vector<Sym> parts;
  for (Sym x : terms(a))
    for (Sym y : terms(b)) {
      Term t = split(x);
      const Term u = split(y);
      t.factors.insert(t.factors.end(), u.factors.begin(), u.factors.end());
      parts.push_back(make_product(checked(static_cast<__int128>(t.coefficient) * u.coefficient),
                                   std::move(t.factors)));
    }
  return make_sum(parts);
}

Sym floordiv(Sym a, Sym b) {
  check_divisor(b);
  if (b.is_const(-1)) return Sym(-1) * a;
  if (a.is_const() && b.is_const()) return floor_division(a.value(), b.value());
  if (const auto simple = simplify(SymKind::kFloorDiv, a, b)) return *simple;
  return make_binary(SymKind::kFloorDiv, a, b, operand(a) + " // " + operand(b));
}

Sym mod(Sym a, Sym b) {
  check_divisor(b);
  if (b.is_const(-1)) return 0;
  if (a.is_const() && b.is_const())
    return checked(static_cast<__int128>(a.value()) -
                   static_cast<__int128>(floor_division(a.value(), b.value())) * b.value());
  if (const auto simple = simplify(SymKind::kMod, a, b)) return *simple;
  return make_binary(SymKind::kMod, a, b, operand(a) + " % " + operand(b));
}

Sym min(Sym a, Sym b) {
  if (const auto simple = simplify(SymKind::kMin, a, b)) return *simple;
  if (b.str() < a.str()) std::swap(a, b);
  return make_binary(SymKind::kMin, a, b, "min(" + a.str() + ", " + b.str() + ")");
}

Sym max(Sym a, Sym b) {
  if (const auto simple = simplify(SymKind::kMax, a, b)) return *simple;
  if (b.str() < a.str()) std::swap(a, b);
  return make_binary(SymKind::kMax, a, b, "max(" + a.str() + ", " + b.str() + ")");
}

}  // namespace slipway

// Symbolic integers: interning, accessors, bounds.
#include "ir/sym.h"

#include "ir/sym_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

namespace slipway {
namespace {

using detail::SymNode;
using Bounds = Sym::Bounds;
constexpr int64_t kInf = Sym::kUnbounded;
constexpr size_t kMaxText = 4096;

int64_t saturate(__int128 v) {
  if (v >= kInf) return kInf;
  if (v <= -kInf) return -kInf;
  return static_cast<int64_t>(v);
}

Bounds add(Bounds a, Bounds b) {
  const auto side = [](int64_t x, int64_t y) {
    if (x == kInf || y == kInf) return kInf;
    if (x == -kInf || y == -kInf) return -kInf;
    return saturate(static_cast<__int128>(x) + y);
  };
  return {side(a.lo, b.lo), side(a.hi, b.hi)};
}

Bounds mul(Bounds a, Bounds b) {
  const int64_t corners[] = {
      saturate(static_cast<__int128>(a.lo) * b.lo), saturate(static_cast<__int128>(a.lo) * b.hi),
      saturate(static_cast<__int128>(a.hi) * b.lo), saturate(static_cast<__int128>(a.hi) * b.hi)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

/// Where the divisor is 0 there is no value that bounds would have to hold.
Bounds division_bounds(Sym a, Sym b) {
  const Bounds x = a.bounds();
  Bounds y = b.bounds();
  if (y.lo < 0 || y.hi < 1) return {-kInf, kInf};
  y.lo = std::max<int64_t>(y.lo, 1);
  const auto side = [](int64_t v, int64_t d) {
    return v == kInf || v == -kInf ? v : (d == kInf ? (v < 0 ? -1 : 0) : floor_division(v, d));
  };
  return {std::min(side(x.lo, y.lo), side(x.lo, y.hi)),
          std::max(side(x.hi, y.lo), side(x.hi, y.hi))};
}

}  // namespace

Sym detail::SymNode::intern(SymNode node) {
  // Hostile graphs can double an expression with every op.
  if (node.text.size() > kMaxText)
    throw Error(kInvalid, "[sym] a size expression is too long: " + node.text.substr(0, 80));
  static std::mutex mutex;
  static auto& table = *new std::unordered_map<std::string, std::unique_ptr<SymNode>>();
  std::string key = node.text;
  const auto tag = [&](Sym s) {
    key += fmt::format("|{}:{}:{}", s.name(), s.node_->value, s.node_->hi);
  };
  if (node.kind == SymKind::kSymbol) key += fmt::format("|{}:{}", node.value, node.hi);
  for (Sym arg : node.args)
    for (Sym s : arg.symbols()) tag(s);
  const std::lock_guard lock(mutex);
  auto& slot = table[key];
  if (!slot) slot = std::make_unique<SymNode>(std::move(node));
  return Sym(slot.get());
}

Sym::Sym(int64_t value)
    : node_(detail::SymNode::intern({.kind = SymKind::kConst,
                                     .value = value,
                                     .name = {},
                                     .args = {},
                                     .text = fmt::to_string(value)})
                .node_) {}

Sym Sym::symbol(const std::string& name, int64_t lo, int64_t hi) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), word))
    throw Error(kInvalid, fmt::format("[sym] '{}' cannot name a dimension: use letters, digits and "
                                      "underscores, not starting with a digit",
                                      name));
  if (lo > hi)
    throw Error(kInvalid,
                fmt::format("[sym] dimension '{}' has min {} above max {}", name, lo, hi));
  return detail::SymNode::intern(
      {.kind = SymKind::kSymbol, .value = lo, .hi = hi, .name = name, .args = {}, .text = name});
}

SymKind Sym::kind() const { return node_->kind; }

int64_t Sym::value() const {
  SLIPWAY_ASSERT(is_const());
  return node_->value;
}

const std::string& Sym::name() const {
  SLIPWAY_ASSERT(is_symbol());
  return node_->name;
}

const std::vector<Sym>& Sym::args() const { return node_->args; }
const std::string& Sym::str() const { return node_->text; }

Sym::Bounds Sym::bounds() const {
  switch (kind()) {
    case SymKind::kConst:
      return {value(), value()};
    case SymKind::kSymbol:
      return {node_->value, node_->hi};
    case SymKind::kAdd: {
      Bounds b = {0, 0};
      for (Sym a : args()) b = add(b, a.bounds());
      return b;
    }
    case SymKind::kMul: {
      Bounds b = {1, 1};
      for (Sym a : args()) b = mul(b, a.bounds());
      return b;
    }
    case SymKind::kFloorDiv:
      return division_bounds(args()[0], args()[1]);
    case SymKind::kMod: {
      const Bounds d = args()[1].bounds();
      return d.lo > 0 ? Bounds{0, d.hi == kInf ? kInf : d.hi - 1} : Bounds{-kInf, kInf};
    }
    case SymKind::kMin:
    case SymKind::kMax: {
      const Bounds a = args()[0].bounds(), b = args()[1].bounds();
      if (kind() == SymKind::kMin) return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
  }
  return {-kInf, kInf};
}

std::vector<Sym> Sym::symbols() const {
  std::vector<Sym> found;
  const std::function<void(Sym)> visit = [&](Sym s) {
    if (s.is_symbol() && std::find(found.begin(), found.end(), s) == found.end())
      found.push_back(s);
    for (Sym a : s.args()) visit(a);
  };
  visit(*this);
  std::sort(found.begin(), found.end(), [](Sym a, Sym b) { return a.name() < b.name(); });
  return found;
}

Sym Sym::substitute(const std::map<std::string, Sym>& values) const {
  if (is_symbol()) {
    const auto at = values.find(name());
    return at != values.end() ? at->second : *this;
  }
  if (is_const()) return *this;
  std::vector<Sym> a;
  for (Sym arg : args()) a.push_back(arg.substitute(values));
  Sym result = a[0];
  for (size_t i = 1; i < a.size(); ++i) {
    switch (kind()) {
      case SymKind::kAdd:
        result = result + a[i];
        break;
      case SymKind::kMul:
        result = result * a[i];
        break;
      case SymKind::kFloorDiv:
        result = floordiv(result, a[i]);
        break;
      case SymKind::kMod:
        result = mod(result, a[i]);
        break;
      case SymKind::kMin:
        result = min(result, a[i]);
        break;
      case SymKind::kMax:
        result = max(result, a[i]);
        break;
      default:
        break;
    }
  }
  return result;
}

int64_t Sym::evaluate(const std::map<std::string, int64_t>& values) const {
  std::map<std::string, Sym> constants;
  for (Sym s : symbols()) {
    const auto at = values.find(s.name());
    if (at == values.end())
      throw Error(kInvalid, fmt::format("[sym] no value for '{}' in {}", s.name(), str()));
    constants.emplace(s.name(), at->second);
  }
  return substitute(constants).value();
}

bool known_le(Sym a, Sym b) { return (b - a).bounds().lo >= 0; }

bool known_ne(Sym a, Sym b) {
  const Bounds d = (a - b).bounds();
  return d.lo > 0 || d.hi < 0;
}

Sym numel(const SymShape& shape) {
  Sym n = 1;
  for (Sym s : shape) n = n * s;
  return n;
}

std::string shape_string(const SymShape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].str();
  return text + "]";
}

}  // namespace slipway

// Patterns of rewrite rules: expressions over wildcards.
#include "passes/pattern.h"

#include <fmt/format.h>

#include "passes/decompose.h"

namespace slipway {
namespace {

constexpr size_t kFirstDTypeWildcard = 200;  // beyond the real ones

}  // namespace

Value Pattern::add_wildcard(Graph& graph, const std::string& name, ValueType type, Wildcard kind) {
  if (const auto at = values_.find(name); at != values_.end()) return at->second;
  const Value value = graph.add_input(name, std::move(type));
  wildcards_[value.node()] = kind;
  values_[name] = value;
  return value;
}

Value Pattern::any(const std::string& name) {
  return add_wildcard(by_hand_, name, {}, Wildcard::kAny);
}
Value Pattern::constant(const std::string& name) {
  return add_wildcard(by_hand_, name, {}, Wildcard::kConstant);
}
Value Pattern::example(const std::string& name, ValueType type) {
  return add_wildcard(from_body_, name, std::move(type), Wildcard::kAny);
}

double Pattern::scalar(const std::string& name) {
  for (const auto& [value, known] : scalars_)
    if (known == name) return value;
  // Numbers nobody writes: positive and tiny, so that bodies take the branch of a set option.
  const double value = 1.2345678901234567e-31 * static_cast<double>(scalars_.size() + 1);
  scalars_[value] = name;
  return value;
}

Sym Pattern::size(const std::string& name) {
  const std::string symbol = "pattern_size_" + name;
  sizes_[symbol] = name;
  return Sym::symbol(symbol, -Sym::kUnbounded, Sym::kUnbounded);
}

std::vector<Sym> Pattern::sizes(const std::string& name) {
  const std::string symbol = "pattern_sizes_" + name;
  lists_[symbol] = name;
  return {Sym::symbol(symbol, -Sym::kUnbounded, Sym::kUnbounded)};
}

DType Pattern::dtype(const std::string& name) {
  for (const auto& [value, known] : dtypes_)
    if (known == name) return value;
  const auto value = static_cast<DType>(kFirstDTypeWildcard + dtypes_.size());
  dtypes_[value] = name;
  return value;
}

OpArg Pattern::ignored() { return std::string(kIgnoredArg); }

Value Pattern::op(std::string_view name, std::initializer_list<OpArg> args) {
  return by_hand_.emit(name, args);
}

Value Pattern::body(std::string_view name, std::initializer_list<OpArg> args) {
  const Value whole = from_body_.emit(name, args);
  return emit_body(*whole.node()->op, whole.node()->args, *whole.node()->graph).at(0);
}

int Pattern::choose(const std::string& name, int count) {
  SLIPWAY_ASSERT(count > 0 && choices_.count(name) == 0);
  const int choice = variant_ % count;
  variant_ /= count;
  choices_[name] = choice;
  return choice;
}

Pattern::Wildcard Pattern::wildcard(const Node& node) const {
  const auto at = wildcards_.find(&node);
  return at == wildcards_.end() ? Wildcard::kNone : at->second;
}

const std::string* Pattern::scalar_name(double value) const {
  const auto at = scalars_.find(value);
  return at == scalars_.end() ? nullptr : &at->second;
}

const std::string* Pattern::dtype_name(DType value) const {
  const auto at = dtypes_.find(value);
  return at == dtypes_.end() ? nullptr : &at->second;
}

const std::string* Pattern::size_name(Sym value) const {
  if (!value.is_symbol()) return nullptr;
  const auto at = sizes_.find(value.name());
  return at == sizes_.end() ? nullptr : &at->second;
}

const std::string* Pattern::sizes_name(const std::vector<Sym>& value) const {
  if (value.size() != 1 || !value[0].is_symbol()) return nullptr;
  const auto at = lists_.find(value[0].name());
  return at == lists_.end() ? nullptr : &at->second;
}

}  // namespace slipway

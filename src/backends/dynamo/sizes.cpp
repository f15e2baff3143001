// Symbolic sizes as values of a serialized graph.
#include "backends/dynamo/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "backends/dynamo/sym_expr.h"

namespace slipway::dynamo {
namespace {

using schema::Argument;
using schema::SymIntArgument;

schema::NamedArgument positional(std::string name, Argument::Value value) {
  return {std::move(name), Argument{std::move(value)}, 1};
}

Sym renamed(Sym size) {
  std::map<std::string, Sym> names;
  for (Sym s : size.symbols()) {
    const auto [lo, hi] = s.bounds();
    names.emplace(s.name(), Sym::symbol(symbol_name(s.name()), lo, hi));
  }
  return size.substitute(names);
}

/// Values for all symbols: those of the example, made different and at least 2, because torch takes
/// 0, 1 and equal sizes for facts about the program.
std::map<std::string, int64_t> hints_for(const std::vector<Sym>& symbols,
                                         const std::map<std::string, int64_t>& example) {
  std::map<std::string, int64_t> hints;
  std::set<int64_t> taken;
  for (Sym s : symbols) {
    const auto [lo, hi] = s.bounds();
    const auto at = example.find(s.name());
    int64_t hint = std::max<int64_t>({at == example.end() ? 0 : at->second, lo, 2});
    while (taken.contains(hint) && hint < hi) ++hint;
    hints[s.name()] = std::min(hint, hi);
    taken.insert(hints[s.name()]);
  }
  return hints;
}

/// Torch's own mark for nodes of no module: they do not end the module around them.
const schema::OrderedMap<std::string>& no_module() {
  static const std::string kMark = "_empty_nn_module_stack_from_metadata_hook";
  static const schema::OrderedMap<std::string> kMetadata = {
      {"nn_module_stack", kMark + "," + kMark + "," + kMark}};
  return kMetadata;
}

}  // namespace

Sizes::Sizes(const Graph& graph, const std::vector<std::string>& inputs,
             const std::map<std::string, int64_t>& example, Names& names, schema::Graph& out)
    : names_(names), out_(out) {
  std::map<std::string, Sym> symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SymShape& shape = graph.inputs()[i]->types[0].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Sym size = shape[axis];
      if (size.is_const()) continue;
      const Place place{inputs[i], static_cast<int64_t>(axis)};
      places_.emplace(size.str(), place);
      if (!size.is_symbol()) sums_.emplace_back(size, place);
      for (Sym s : size.symbols()) symbols.emplace(s.name(), s);
    }
  }
  for (const auto& [name, symbol] : symbols) symbols_.push_back(symbol);
  hints_ = hints_for(symbols_, example);
}

schema::SymInt Sizes::value(Sym size) const {
  if (size.is_const()) return {size.value()};
  return {schema::SymExpr{sym_expr(renamed(size)), schema::SymExprHint{size.evaluate(hints_)}}};
}

std::vector<schema::SymInt> Sizes::values(const SymShape& shape) const {
  std::vector<schema::SymInt> result;
  for (Sym size : shape) result.push_back(value(size));
  return result;
}

std::string Sizes::read(const Place& place, Sym size) {
  std::string name = names_.fresh("sym_size_int");
  schema::Node node;
  node.target = "torch.ops.aten.sym_size.int";
  node.inputs = {positional("self", schema::TensorArgument{place.input}),
                 positional("dim", place.axis)};
  node.outputs = {{SymIntArgument{schema::Name{name}}}};
  node.metadata = no_module();
  node.name = name;
  out_.nodes.push_back(std::move(node));
  out_.sym_int_values.emplace_back(name, value(size));
  return name;
}

std::string Sizes::compute(const char* target, const SymIntArgument& a, const SymIntArgument& b,
                           Sym result) {
  const std::string_view op(target);
  std::string name = names_.fresh("size_" + std::string(op.substr(op.rfind('.') + 1)));
  schema::Node node;
  node.target = target;
  node.inputs = {positional("a", a), positional("b", b)};
  node.outputs = {{SymIntArgument{schema::Name{name}}}};
  node.metadata = no_module();
  node.name = name;
  out_.nodes.push_back(std::move(node));
  out_.sym_int_values.emplace_back(name, value(result));
  return name;
}

/// A symbol that inputs have only in sums: the sum without the rest.
SymIntArgument Sizes::solve(Sym symbol) {
  for (const auto& [sum, place] : sums_) {
    const Sym rest = sum - symbol;
    const std::vector<Sym> others = rest.symbols();
    const bool known = std::all_of(others.begin(), others.end(),
                                   [&](Sym s) { return s != symbol && places_.contains(s.str()); });
    if (!known) continue;
    return {schema::Name{compute("_operator.sub", argument(sum), argument(rest), symbol)}};
  }
  throw Error(kUnsupported, fmt::format("[dynamo] the graph computes with the size '{}', which no "
                                        "input has; make it a dimension of an input",
                                        symbol.name()));
}

SymIntArgument Sizes::argument(Sym size) {
  if (size.is_const()) return {size.value()};
  if (const auto at = known_.find(size.str()); at != known_.end())
    return {schema::Name{at->second}};
  SymIntArgument result;
  if (const auto at = places_.find(size.str()); at != places_.end()) {
    result = {schema::Name{read(at->second, size)}};
  } else if (size.is_symbol()) {
    result = solve(size);
  } else {
    static const std::map<SymKind, const char*> kTargets = {
        {SymKind::kAdd, "_operator.add"},           {SymKind::kMul, "_operator.mul"},
        {SymKind::kFloorDiv, "_operator.floordiv"}, {SymKind::kMod, "_operator.mod"},
        {SymKind::kMin, "torch.sym_min"},           {SymKind::kMax, "torch.sym_max"}};
    const std::vector<Sym>& parts = size.args();
    const auto join = [&](Sym a, Sym b) -> Sym {
      switch (size.kind()) {
        case SymKind::kAdd:
          return a + b;
        case SymKind::kMul:
          return a * b;
        case SymKind::kFloorDiv:
          return floordiv(a, b);
        case SymKind::kMod:
          return mod(a, b);
        case SymKind::kMin:
          return min(a, b);
        default:
          return max(a, b);
      }
    };
    Sym so_far = parts.at(0);
    result = argument(so_far);
    for (size_t i = 1; i < parts.size(); ++i) {
      so_far = join(so_far, parts[i]);
      result = {
          schema::Name{compute(kTargets.at(size.kind()), result, argument(parts[i]), so_far)}};
    }
  }
  known_[size.str()] = std::get<schema::Name>(result.value).value;
  return result;
}

void Sizes::assert_condition(const char* target, const char* relation, Sym symbol, int64_t bound) {
  const std::string name = names_.fresh(std::string("size_") + (target + 10));
  const std::string text = fmt::format("{} {} {}", symbol.name(), relation, bound);
  schema::Node compare;
  compare.target = target;
  compare.inputs = {positional("a", argument(symbol)), positional("b", bound)};
  compare.outputs = {{schema::SymBoolArgument{schema::Name{name}}}};
  compare.metadata = no_module();
  compare.name = name;
  const std::string expression = fmt::format(
      "{}({}, Integer({}))", relation == std::string_view("<=") ? "LessThan" : "GreaterThan",
      sym_expr(renamed(symbol)), bound);
  out_.sym_bool_values.emplace_back(name, schema::SymBool{schema::SymExpr{expression, {}}});
  out_.nodes.push_back(std::move(compare));
  schema::Node check;
  check.target = "torch.ops.aten._assert_scalar.default";
  check.inputs = {positional("self", schema::SymBoolArgument{schema::Name{name}}),
                  positional("assert_msg", fmt::format("the model needs {}", text))};
  check.metadata = no_module();
  check.name = names_.fresh("_assert_scalar");
  out_.nodes.push_back(std::move(check));
}

void Sizes::assert_bounds(Sym symbol, Sym::Bounds bounds) {
  if (bounds.lo != -Sym::kUnbounded) assert_condition("_operator.ge", ">=", symbol, bounds.lo);
  if (bounds.hi != Sym::kUnbounded) assert_condition("_operator.le", "<=", symbol, bounds.hi);
}

}  // namespace slipway::dynamo

// Upper bounds of sizes.
#include "lowering/upper_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace slipway::lowering {
namespace {

constexpr const char* kBatch = "batch_size";
constexpr int64_t kGrowth = 4, kBatchFloor = 4, kLeastFloor = 64, kMostFloor = 1024;
constexpr double kProduct = 1 << 22;

using Replacements = std::map<std::string, Sym>;

void collect(const SymShape& shape, std::map<std::string, Sym>& found) {
  for (const Sym size : shape)
    for (const Sym symbol : size.symbols()) found.try_emplace(symbol.name(), symbol);
}

void substitute(SymShape& shape, const Replacements& by) {
  for (Sym& size : shape) size = size.substitute(by);
}

void substitute(Node& node, const Replacements& by) {
  for (ValueType& type : node.types) substitute(type.shape, by);
  for (Arg& arg : node.args) {
    if (auto* size = std::get_if<Sym>(&arg)) *size = size->substitute(by);
    if (auto* sizes = std::get_if<std::vector<Sym>>(&arg)) substitute(*sizes, by);
  }
}

void substitute(Graph& graph, const Replacements& by) {
  for (Node* input : graph.inputs()) substitute(*input, by);
  for (Node* node : graph.order())
    if (node->kind != NodeKind::kInput) substitute(*node, by);
}

Sym bounded(Sym symbol, int64_t hi) {
  const int64_t lo = symbol.bounds().lo;
  if (hi < lo)
    throw Error(kInvalid, fmt::format("[bounds] got the upper bound {} for {}, need at least its "
                                      "lower one, {}",
                                      hi, symbol.name(), lo));
  return Sym::symbol(symbol.name(), lo, hi);
}

/// What is kept of an axis is at most the axis.
void bound_kept(Graph& graph) {
  Replacements by;
  for (const Node* node : graph.order()) {
    if (node->kind != NodeKind::kOp || node->op->name() != "slipway::keep_last") continue;
    const Sym kept = node->types[0].shape[1], all = node->arguments().type(0).shape[1];
    if (kept.is_symbol() && kept.bounds().hi > all.bounds().hi)
      by.insert_or_assign(kept.name(), bounded(kept, all.bounds().hi));
  }
  if (!by.empty()) substitute(graph, by);
}

}  // namespace

std::vector<Sym> unbounded_symbols(const Graph& graph) {
  std::map<std::string, Sym> found;
  for (const Node* input : graph.inputs()) collect(input->types[0].shape, found);
  std::vector<Sym> result;
  for (const auto& [name, symbol] : found)
    if (symbol.bounds().hi == Sym::kUnbounded) result.push_back(symbol);
  return result;
}

std::map<std::string, int64_t> default_upper_bounds(const std::vector<Sym>& symbols,
                                                    const std::map<std::string, int64_t>& example) {
  const auto others = std::count_if(symbols.begin(), symbols.end(),
                                    [](Sym symbol) { return symbol.name() != kBatch; });
  const double share = std::pow(kProduct, 1.0 / static_cast<double>(std::max<int64_t>(1, others)));
  const int64_t floor = std::clamp<int64_t>(std::llround(share), kLeastFloor, kMostFloor);
  std::map<std::string, int64_t> bounds;
  for (const Sym symbol : symbols) {
    const auto at = example.find(symbol.name());
    const int64_t seen = at == example.end() ? 0 : at->second;
    bounds[symbol.name()] = std::max(symbol.name() == kBatch ? kBatchFloor : floor,
                                     kGrowth * std::max(symbol.bounds().lo, seen));
  }
  return bounds;
}

void fix_sizes(Graph& graph) {
  std::map<std::string, Sym> found;
  for (const Node* input : graph.inputs()) collect(input->types[0].shape, found);
  Replacements by;
  for (const auto& [name, symbol] : found)
    if (symbol.bounds().lo == symbol.bounds().hi) by.insert_or_assign(name, symbol.bounds().lo);
  if (!by.empty()) substitute(graph, by);
}

void set_upper_bounds(Graph& graph, const std::map<std::string, int64_t>& bounds) {
  std::map<std::string, Sym> found;
  for (const Node* input : graph.inputs()) collect(input->types[0].shape, found);
  Replacements by;
  for (const auto& [name, symbol] : found)
    if (const auto at = bounds.find(name); at != bounds.end())
      by.insert_or_assign(name, bounded(symbol, at->second));
  if (!by.empty()) substitute(graph, by);
  bound_kept(graph);
}

}  // namespace slipway::lowering

// Common subexpressions: computes equal things once.
#include "passes/cse.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "passes/arguments.h"
#include "passes/renaming.h"

namespace slipway {
namespace {

/// Constants beyond this size are compared by identity only: reading them costs more than it saves.
constexpr int64_t kLargestComparedConstant = 1 << 20;

void append(std::string& key, const auto& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Equal expressions are one object, so the handle's bytes are the expression.
void append(std::string& key, Sym s) {
  static_assert(sizeof(Sym) == sizeof(void*) && std::is_trivially_copyable_v<Sym>);
  key.append(reinterpret_cast<const char*>(&s), sizeof(s));
}
void append(std::string& key, Value v) {
  append(key, v.defined() ? v.node()->id : int64_t{-1});
  append(key, v.index());
}
void append(std::string& key, const std::string& text) {
  append(key, text.size());
  key += text;
}
template <class T>
void append(std::string& key, const std::vector<T>& list) {
  append(key, list.size());
  for (const T& item : list) append(key, item);
}

void append(std::string& key, const Arg& arg) {
  key += static_cast<char>('a' + arg.index());
  std::visit(
      [&](const auto& v) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) append(key, v);
      },
      arg);
}

/// Equal keys, equal results.
std::string key_of_op(const Node& node) {
  std::string key = "op";
  append(key, node.op);
  const std::vector<Arg>& args = node.args;
  size_t next = 0;
  if (commutes(*node.op, args)) {
    const Value a = std::get<Value>(args[0]), b = std::get<Value>(args[1]);
    append(key, std::min(a, b));
    append(key, std::max(a, b));
    next = 2;
  }
  for (; next < args.size(); ++next) append(key, canonical_arg(node, next, args[next]));
  return key;
}

std::string key_of_constant(const Node& node) {
  std::string key = "constant";
  if (node.data->nbytes() > kLargestComparedConstant) {
    append(key, node.data.get());
    return key;
  }
  append(key, node.data->dtype());
  append(key, node.data->shape());
  const Tensor tensor = materialize(*node.data);
  key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.nbytes()));
  return key;
}

/// Empty for nodes that are never merged.
std::string key_of(const Node& node) {
  if (node.kind == NodeKind::kConstant) return key_of_constant(node);
  if (node.kind == NodeKind::kOp && !node.op->has(kImpure)) return key_of_op(node);
  return {};
}

}  // namespace

int64_t cse(Graph& graph) {
  std::unordered_map<std::string, Node*> first;
  Renaming renaming;
  int64_t merged = 0;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    std::string key = key_of(*node);
    if (key.empty()) continue;
    const auto [at, added] = first.try_emplace(std::move(key), node);
    if (added) continue;
    for (size_t i = 0; i < node->types.size(); ++i)
      renaming.add(node->out(static_cast<int>(i)), at->second->out(static_cast<int>(i)));
    ++merged;
  }
  renaming.finish(graph);
  if (merged > 0) graph.drop_dead();
  return merged;
}

}  // namespace slipway

// Rewrite rules: pattern, check with reasons, replacement.
#include "passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "passes/decompose.h"
#include "passes/renaming.h"

namespace slipway {
namespace {

/// Sweeps rewrite chains as they go, so a few are enough; more means rules that undo each other.
constexpr int kMostSweeps = 64;

/// A rule with one of its alternatives built.
struct Compiled {
  const Rule* rule;
  Pattern pattern;
  Value root;
  std::set<const Op*> ops;
  size_t size = 0;

  Compiled(const Rule& r, int variant) : rule(&r), pattern(variant), root(r.pattern(pattern)) {
    SLIPWAY_ASSERT(root.node()->kind == NodeKind::kOp);
    std::vector<const Node*> todo = {root.node()};
    std::set<const Node*> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      if (node->op != nullptr) ops.insert(node->op);
      for (const Value v : operands(*node))
        if (seen.insert(v.node()).second) todo.push_back(v.node());
    }
    size = seen.size();
  }
};

/// Rules to try at a node, by its op.
using ByOp = std::unordered_map<const Op*, std::vector<Compiled*>>;

using UseCounts = std::unordered_map<const Node*, int>;

UseCounts count_uses(const Graph& graph, const std::vector<Node*>& order) {
  UseCounts counts;
  for (const Node* node : order)
    for (const Value v : operands(*node)) ++counts[v.node()];
  for (const Output& output : graph.outputs()) ++counts[output.value.node()];
  return counts;
}

class Sweep {
 public:
  Sweep(Graph& graph, PassContext& context, const ByOp& rules)
      : graph_(graph), context_(context), rules_(rules) {}

  int64_t run(const std::vector<Node*>& order) {
    if (needs_uses()) uses_ = count_uses(graph_, order);
    int64_t changes = 0;
    for (Node* node : order) {
      renaming_.apply(*node);
      if (node->kind != NodeKind::kOp) continue;
      const auto candidates = rules_.find(node->op);
      if (candidates == rules_.end()) continue;
      for (Compiled* rule : candidates->second)
        if (apply(*rule, *node)) {
          ++changes;
          break;
        }
    }
    renaming_.finish(graph_);
    return changes;
  }

 private:
  bool needs_uses() const {
    return std::any_of(rules_.begin(), rules_.end(), [](const auto& of_op) {
      return std::any_of(of_op.second.begin(), of_op.second.end(), [](const Compiled* c) {
        return c->rule->interior == Interior::kSingleUse;
      });
    });
  }

  bool apply(Compiled& compiled, Node& node) {
    const Rule& rule = *compiled.rule;
    const Value root = node.out(compiled.root.index());
    std::optional<Bindings> found = match(compiled.pattern, compiled.root, root);
    if (!found) return false;
    if (rule.interior == Interior::kSingleUse && !used_once(*found, node)) {
      context_.add_reason(rule.name, "a value inside is used elsewhere", &node);
      return false;
    }
    const ScopeGuard scope(graph_, node.scope);
    Match m(rule.name, compiled.pattern, std::move(*found), root, context_);
    const std::optional<Value> stand_in = rule.rewrite(m);
    if (!stand_in || *stand_in == root) return false;
    if (stand_in->type() != root.type()) {
      context_.add_reason(rule.name,
                          fmt::format("the result would be {}, need {}",
                                      to_string(stand_in->type()), to_string(root.type())),
                          &node);
      return false;
    }
    renaming_.add(root, *stand_in);
    return true;
  }

  /// Counts are of the sweep's start: a node made since is unknown and waits for the next sweep.
  bool used_once(const Bindings& found, const Node& root) const {
    for (const auto& [pattern, node] : found.nodes) {
      if (node == &root || node->kind != NodeKind::kOp) continue;
      const auto at = uses_.find(node);
      if (at == uses_.end() || at->second != 1) return false;
    }
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  const ByOp& rules_;
  Renaming renaming_;
  UseCounts uses_;
};

/// A graph between sweeps: its order and the ops in it, until a sweep changes it.
class Sweeper {
 public:
  Sweeper(Graph& graph, PassContext& context) : graph_(graph), context_(context) { look(); }

  /// Sweeps until nothing changes. Patterns with an op that the graph does not have cost nothing.
  int64_t apply(const std::vector<Compiled*>& group) {
    int64_t total = 0;
    for (int sweep = 0;; ++sweep) {
      SLIPWAY_ASSERT(sweep < kMostSweeps);
      ByOp by_op;
      for (Compiled* rule : group)
        if (std::includes(present_.begin(), present_.end(), rule->ops.begin(), rule->ops.end()))
          by_op[rule->root.node()->op].push_back(rule);
      const int64_t changes = by_op.empty() ? 0 : Sweep(graph_, context_, by_op).run(order_);
      if (changes == 0) return total;
      total += changes;
      look();
    }
  }

 private:
  void look() {
    order_ = graph_.order();
    present_.clear();
    for (const Node* node : order_) present_.insert(node->op);
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<Node*> order_;
  std::set<const Op*> present_;
};

}  // namespace

Value Match::operator[](const std::string& name) const {
  const auto at = found_.values.find(name);
  SLIPWAY_ASSERT(at != found_.values.end());
  return at->second;
}

const Arg& Match::arg(const std::string& name) const {
  const auto at = found_.args.find(name);
  SLIPWAY_ASSERT(at != found_.args.end());
  return at->second;
}

double Match::scalar(const std::string& name) const { return std::get<double>(arg(name)); }
Sym Match::size(const std::string& name) const { return std::get<Sym>(arg(name)); }
const std::vector<Sym>& Match::sizes(const std::string& name) const {
  return std::get<std::vector<Sym>>(arg(name));
}
DType Match::dtype(const std::string& name) const { return std::get<DType>(arg(name)); }
int Match::choice(const std::string& name) const { return pattern_.choices().at(name); }

std::nullopt_t Match::fail(const std::string& message, Value at) const {
  context_.add_reason(rule_, message, at.node());
  return std::nullopt;
}

std::optional<Value> Match::raise(std::string_view op, std::initializer_list<OpArg> args) const {
  Value whole, body;
  try {
    whole = graph().emit(op, args);
    body = emit_body(*whole.node()->op, whole.node()->args, *whole.node()->graph).at(0);
  } catch (const Error& e) {
    // The pattern left sizes and dtypes open, so what it found may not fit the op.
    if (e.kind() != kInvalid) throw;
    return fail(e.what());
  }
  if (!same_expression(body, root_))
    return fail(fmt::format("the expression is not the body of {}", op));
  return whole;
}

int64_t apply_rules(Graph& graph, std::span<const Rule> rules, PassContext& context,
                    Precedence precedence) {
  std::deque<Compiled> compiled;  // patterns hold handles into themselves: they must not move
  std::vector<Compiled*> listed;
  for (const Rule& rule : rules)
    for (int variant = 0; variant < rule.variants; ++variant)
      listed.push_back(&compiled.emplace_back(rule, variant));

  // Groups are tried one after the other: everything at once, or one alternative each.
  std::vector<std::vector<Compiled*>> groups = {listed};
  if (precedence == Precedence::kLargestFirst) {
    std::stable_sort(listed.begin(), listed.end(),
                     [](const Compiled* a, const Compiled* b) { return a->size > b->size; });
    groups.clear();
    for (Compiled* one : listed) groups.push_back({one});
  }
  Sweeper sweeper(graph, context);
  int64_t total = 0, changes = 1;
  for (int round = 0; changes > 0; ++round) {
    SLIPWAY_ASSERT(round < kMostSweeps);
    changes = 0;
    for (const std::vector<Compiled*>& group : groups) changes += sweeper.apply(group);
    total += changes;
  }
  graph.drop_dead();
  return total;
}

}  // namespace slipway

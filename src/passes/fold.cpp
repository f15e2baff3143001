// Constant folding.
#include "passes/fold.h"

#include <algorithm>
#include <map>

#include "ir/eval.h"
#include "passes/renaming.h"

namespace slipway {
namespace {

bool is_fixed(const Arg& arg) {
  if (const auto* size = std::get_if<Sym>(&arg)) return size->is_const();
  if (const auto* sizes = std::get_if<std::vector<Sym>>(&arg))
    return std::all_of(sizes->begin(), sizes->end(), [](Sym s) { return s.is_const(); });
  return true;
}

class Folder {
 public:
  Folder(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  int64_t run() {
    int64_t folded = 0;
    for (Node* node : graph_.order()) {
      renaming_.apply(*node);
      if (node->kind == NodeKind::kConstant) keep_constant(*node);
      if (node->kind == NodeKind::kOp && compute(*node) && !operands(*node).empty()) {
        replace(*node);
        ++folded;
      }
    }
    renaming_.finish(graph_);
    if (folded > 0) graph_.drop_dead();
    return folded;
  }

 private:
  bool is_small(const ValueType& type) const {
    const Sym count = numel(type.shape);
    return count.is_const() && count.value() <= context_.options().fold_limit;
  }

  void keep_constant(const Node& node) {
    if (!is_small(node.types[0]) || node.data == nullptr) return;
    try {
      known_[{&node, 0}] = Array::from_tensor(materialize(*node.data));
    } catch (const Error& e) {
      context_.add_reason("fold", e.what(), &node);  // a number that a double does not hold
    }
  }

  /// Ranges and fills are computed as well, but stay ops: they have no operands.
  bool compute(const Node& node) {
    if (node.op->row.eval == nullptr || node.op->has(kImpure)) return false;
    const auto small = [&](const ValueType& type) { return is_small(type); };
    if (!std::all_of(node.types.begin(), node.types.end(), small)) return false;
    if (!std::all_of(node.args.begin(), node.args.end(), is_fixed)) return false;
    for (const Value v : operands(node))
      if (known_.count({v.node(), v.index()}) == 0) return false;
    try {
      std::vector<Array> results = node.op->row.eval(EvalArgs(node, known_, {}));
      SLIPWAY_ASSERT(results.size() == node.types.size());
      for (size_t i = 0; i < results.size(); ++i) {
        SLIPWAY_ASSERT(results[i].dtype == node.types[i].dtype);
        results[i].round();
        known_[{&node, static_cast<int>(i)}] = std::move(results[i]);
      }
    } catch (const Error& e) {
      if (e.kind() == kInternal) throw;
      context_.add_reason("fold", e.what(), &node);
      return false;
    }
    return true;
  }

  void replace(Node& node) {
    const ScopeGuard scope(graph_, node.scope);
    for (int i = 0; i < static_cast<int>(node.types.size()); ++i) {
      const Array& result = known_.at({&node, i});
      const Value constant = graph_.constant(result.to_tensor());
      known_[{constant.node(), 0}] = result;
      renaming_.add(node.out(i), constant);
    }
  }

  Graph& graph_;
  PassContext& context_;
  Renaming renaming_;
  std::map<std::pair<const Node*, int>, Array> known_;
};

}  // namespace

int64_t fold(Graph& graph, PassContext& context) { return Folder(graph, context).run(); }

}  // namespace slipway

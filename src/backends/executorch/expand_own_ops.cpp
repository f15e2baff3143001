// Ops that lowering has and no kernel is: written as kernels.
#include <set>

#include "backends/executorch/partition.h"
#include "ir/ops/infer.h"
#include "passes/renaming.h"

namespace slipway::executorch {
namespace {

Value emit(Graph& graph, std::string_view op, std::initializer_list<OpArg> args, ValueType type) {
  return graph.emit_as(get_op(op), std::vector<OpArg>(args), {std::move(type)})[0];
}

Value reshaped(Graph& graph, Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  return emit(graph, "et::view_copy.out", {x, shape}, {x.dtype(), shape});
}

/// et::matmul as a product of two stacks of matrices: the kernel knows one axis before them.
Value batched(Graph& graph, const Node& node) {
  const Args a = node.arguments();
  Value left = a.value(0), right = a.value(1);
  if (a.flag(2)) {
    std::vector<Sym> axes;
    SymShape turned = right.shape();
    const auto rank = static_cast<int64_t>(turned.size());
    for (int64_t i = 0; i < rank; ++i) axes.emplace_back(i);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    right = emit(graph, "et::permute_copy.out", {right, axes}, {right.dtype(), turned});
  }
  const SymShape& out = node.types[0].shape;
  const SymShape batch(out.begin(), out.end() - 2);
  const Sym count = numel(batch);
  const auto flat = [&](Value x) {
    SymShape whole = batch;
    whole.insert(whole.end(), x.shape().end() - 2, x.shape().end());
    if (x.shape() != whole) x = emit(graph, "et::expand_copy.out", {x, whole}, {x.dtype(), whole});
    return reshaped(graph, x, {count, x.dim(-2), x.dim(-1)});
  };
  const ValueType type{node.types[0].dtype, {count, out[out.size() - 2], out.back()}};
  const Value l = flat(left), r = flat(right);
  return reshaped(graph, emit(graph, "et::bmm.out", {l, r}, type), out);
}

}  // namespace

void expand_own_ops(Graph& graph, const std::vector<Partition>& kept) {
  std::set<const Node*> inside;
  for (const Partition& part : kept) inside.insert(part.nodes.begin(), part.nodes.end());
  Renaming renaming;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    if (node->kind != NodeKind::kOp || inside.contains(node) || node->op->name() != "et::matmul")
      continue;
    const ScopeGuard scope(graph, node->scope);
    renaming.add(node->out(), batched(graph, *node));
  }
  renaming.finish(graph);
  graph.drop_dead();
}

}  // namespace slipway::executorch

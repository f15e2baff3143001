// Replaces ops by their bodies.
#include "passes/decompose.h"

#include <fmt/format.h>

#include "passes/renaming.h"

namespace slipway {
namespace {

/// Bodies nest a few levels; deeper means that a body contains its own op.
constexpr int kDeepestNesting = 16;

/// One sweep: bodies of what is there now. Ops inside the bodies wait for the next sweep.
int64_t expand_once(Graph& graph, const std::function<bool(const Op&)>& keep) {
  Renaming renaming;
  int64_t expanded = 0;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    if (node->kind != NodeKind::kOp || node->op->row.body == nullptr || keep(*node->op)) continue;
    const ScopeGuard scope(graph, node->scope);
    const std::vector<Value> results = emit_body(*node->op, node->args, graph);
    SLIPWAY_ASSERT(results.size() == node->types.size());
    for (size_t i = 0; i < results.size(); ++i) {
      SLIPWAY_ASSERT(results[i].dtype() == node->types[i].dtype);
      SLIPWAY_ASSERT(results[i].shape().size() == node->types[i].shape.size());
      renaming.add(node->out(static_cast<int>(i)), results[i]);
    }
    ++expanded;
  }
  renaming.finish(graph);
  return expanded;
}

}  // namespace

std::vector<Value> emit_body(const Op& op, std::span<const Arg> args, Graph& graph) {
  SLIPWAY_ASSERT(op.row.body != nullptr);
  try {
    return op.row.body(Args(op, args, &graph));
  } catch (const Error& e) {
    throw e.with_context(fmt::format("[body of {}]", op.name()));
  }
}

int64_t decompose(Graph& graph, const std::function<bool(const Op&)>& keep) {
  int64_t total = 0;
  for (int depth = 0; const int64_t expanded = expand_once(graph, keep); ++depth) {
    SLIPWAY_ASSERT(depth < kDeepestNesting);
    total += expanded;
  }
  if (total > 0) graph.drop_dead();
  return total;
}

int64_t expand_spellings(Graph& graph) {
  return decompose(graph, [](const Op& op) { return !op.has(kSpelling); });
}

}  // namespace slipway

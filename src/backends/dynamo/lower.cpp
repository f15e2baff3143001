// Lowering to ATen.
#include "backends/dynamo/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "passes/decompose.h"
#include "passes/renaming.h"

namespace slipway::dynamo {
namespace {

std::vector<ValueType> attention_type(const Args& a) {
  SymShape shape = a.type(0).shape;
  shape.back() = a.type(2).shape.back();
  return {{a.type(0).dtype, std::move(shape)}};
}

constexpr OpRow kRows[] = {
    {.schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
               "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
               "float? scale=None, bool enable_gqa=False) -> Tensor",
     .infer = attention_type},
};

bool is_aten(const Op& op) { return op.name().starts_with("aten::"); }

/// softmax(scale q k' + mask) v: what torch has one op for. Its rows of all-false masks are zeros.
Value fused_attention(const Args& a) {
  const bool grouped = a.type(0).shape[1] != a.type(1).shape[1];
  return a.value(0).graph().emit("aten::scaled_dot_product_attention",
                                 {a.value(0), a.value(1), a.value(2), a.optional(3),
                                  named("scale", a.number(4)), named("enable_gqa", grouped)});
}

void fuse_attention(Graph& graph) {
  Renaming renaming;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    if (node->kind != NodeKind::kOp || node->op->name() != "slipway::attention") continue;
    const Args a = node->arguments();
    if (a.number(5) > 0) continue;
    const ScopeGuard scope(graph, node->scope);
    renaming.add(node->out(), fused_attention(a));
  }
  renaming.finish(graph);
  graph.drop_dead();
}

void refuse_others(const Graph& graph) {
  std::map<std::string, int64_t> missing;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp && !is_aten(*node->op)) ++missing[node->op->name()];
  if (missing.empty()) return;
  std::vector<std::string> list;
  for (const auto& [op, count] : missing) list.push_back(fmt::format("{} x{}", op, count));
  throw Error(
      kUnsupported,
      fmt::format("[dynamo] {} ops have no form in ATen: {}; give them a body in src/ir/ops",
                  missing.size(), fmt::join(list, ", ")));
}

}  // namespace

std::span<const OpRow> dynamo_ops() { return kRows; }

void lower(ExportedProgram& program) {
  register_ops(dynamo_ops());
  Graph& graph = *program.graph;
  fuse_attention(graph);
  decompose(graph, is_aten);
  refuse_others(graph);
  const Op& reshape = get_op("aten::reshape");
  for (Node* node : graph.order())
    if (node->kind == NodeKind::kOp && node->op->name() == "aten::view") node->op = &reshape;
}

std::vector<Update> updates_of(const Graph& graph) {
  std::vector<Update> updates;
  for (Node* input : graph.inputs())
    for (const Output& output : graph.outputs())
      if (output.name == input->name && output.value.type() == input->types[0])
        updates.push_back({input, output.value});
  return updates;
}

}  // namespace slipway::dynamo

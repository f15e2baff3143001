// Lowering to ATen.
#include "backends/dynamo/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "ir/build.h"
#include "passes/decompose.h"
#include "passes/renaming.h"

namespace slipway::dynamo {
namespace {

bool is_aten(const Op& op) { return op.name().starts_with("aten::"); }

/// softmax(scale q k' + mask) v: what torch has one op for. Its rows of all-false masks are zeros.
Value fused_attention(const Args& a) {
  const bool grouped = a.type(0).shape[1] != a.type(1).shape[1];
  return a.value(0).graph().emit("aten::scaled_dot_product_attention",
                                 {a.value(0), a.value(1), a.value(2), a.optional(3),
                                  named("scale", a.number(4)), named("enable_gqa", grouped)});
}

/// Torch's op for the products of groups, and zeros in the rows of no group.
Value fused_groups(const Args& a) {
  Graph& graph = a.value(0).graph();
  const Value x = a.value(0), ends = a.value(2);
  const Value product = graph.emit("aten::_grouped_mm", {x, a.value(1), to(ends, DType::kI32)});
  const Value rows = unsqueeze(arange(graph, 0, x.dim(0)), 1);
  const Value used = graph.emit("aten::lt.Tensor", {rows, select(ends, 0, -1)});
  return where(used, product, full(graph, {}, 0.0, x.dtype()));
}

/// Torch's op wants rows of whole 16 bytes.
bool has_fused_groups(const Args& a) {
  const auto whole = [](Sym size, DType dtype) {
    return size.is_const() && size.value() * itemsize(dtype) % 16 == 0;
  };
  const ValueType& weight = a.type(1);
  return whole(weight.shape[1], weight.dtype) && whole(weight.shape[2], weight.dtype);
}

/// The one op of torch for a composite; undefined where there is none.
Value fused(const Node& node) {
  const Args a = node.arguments();
  if (node.op->name() == "slipway::attention" && a.number(5) == 0) return fused_attention(a);
  if (node.op->name() == "slipway::grouped_mm" && has_fused_groups(a)) return fused_groups(a);
  return {};
}

void fuse(Graph& graph) {
  Renaming renaming;
  for (Node* node : graph.order()) {
    renaming.apply(*node);
    if (node->kind != NodeKind::kOp) continue;
    const ScopeGuard scope(graph, node->scope);
    if (const Value value = fused(*node); value.defined()) renaming.add(node->out(), value);
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

void lower(ExportedProgram& program) {
  Graph& graph = *program.graph;
  fuse(graph);
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

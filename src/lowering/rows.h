// The table of a back end's lowering rows, and the walk that applies them.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "lowering/state.h"

namespace slipway::lowering {

/// One row: how an op becomes target ops. Ops of several outputs have the second function.
template <class L>
struct Row {
  std::string_view op;
  Value (*lower)(L& l);
  std::vector<Value> (*lower_all)(L& l) = nullptr;
};

/// The rows of a back end, from one span a family.
template <class L>
class Rows {
 public:
  Rows(std::initializer_list<std::span<const Row<L>>> families) {
    for (const auto family : families)
      for (const Row<L>& row : family) rows_[row.op] = &row;
  }

  /// The row of an op, or null. An op with a body and no row is expanded first.
  const Row<L>* find(std::string_view op) const {
    const auto at = rows_.find(op);
    return at == rows_.end() ? nullptr : at->second;
  }

 private:
  std::map<std::string_view, const Row<L>*> rows_;
};

/// Expands the ops that have a body and no row, until only ops with rows are left. `backend` is the
/// back end's name and folder. Error{kUnsupported} lists every op that has neither, with counts,
/// and what `lacking` says of nodes that their op's row cannot lower: "" or the op in its form.
void expand_to_rows(Graph& source, std::string_view backend,
                    const std::function<bool(const Op&)>& has_row,
                    const std::function<std::string(const Node&)>& lacking = {});

/// Asserts that a row gave what the node promises: Error{kInternal} names the op.
void check_lowered(const Node& node, std::string_view backend, const std::vector<Value>& got,
                   const std::vector<ValueType>& wanted);

/// Lowers one op node by its row. L is made of (state, node) and has out(i), the type wanted.
template <class L, class S>
void lower_node(Node& node, const Rows<L>& rows, std::string_view backend, S& state) {
  L l(state, node);
  const Row<L>& row = *rows.find(node.op->name());
  const std::vector<Value> values =
      row.lower_all != nullptr ? row.lower_all(l) : std::vector<Value>{row.lower(l)};
  std::vector<ValueType> wanted;
  for (size_t i = 0; i < node.types.size(); ++i) wanted.push_back(l.out(i));
  check_lowered(node, backend, values, wanted);
  for (size_t i = 0; i < values.size(); ++i)
    state.lowered[node.out(static_cast<int>(i))] = values[i];
}

/// Lowers all but the inputs, which `state` has already. S has weight(name, Lazy) and
/// constant(Lazy), a stored tensor as ops read it.
template <class L, class S>
void lower_nodes(const Graph& source, const Rows<L>& rows, std::string_view backend, S& state) {
  for (Node* node : source.order()) {
    const ScopeGuard scope(state.target, node->scope);
    switch (node->kind) {
      case NodeKind::kInput:
        break;
      case NodeKind::kWeight:
        state.lowered[node->out()] = state.weight(node->name, node->data);
        break;
      case NodeKind::kConstant:
        state.lowered[node->out()] = state.constant(node->data);
        break;
      case NodeKind::kOp:
        lower_node(*node, rows, backend, state);
        break;
    }
  }
}

}  // namespace slipway::lowering

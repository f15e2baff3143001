// The walk that applies lowering rows: what is checked.
#include "lowering/rows.h"

#include <fmt/ranges.h>

#include "passes/decompose.h"

namespace slipway::lowering {
namespace {

void refuse_unknown(const Graph& graph, std::string_view backend,
                    const std::function<bool(const Op&)>& has_row,
                    const std::function<std::string(const Node&)>& lacking) {
  std::map<std::string, int64_t> missing;
  for (const Node* node : graph.order()) {
    if (node->kind != NodeKind::kOp) continue;
    if (!has_row(*node->op)) ++missing[node->op->name()];
    else if (const std::string form = lacking ? lacking(*node) : ""; !form.empty()) ++missing[form];
  }
  if (missing.empty()) return;
  std::vector<std::string> list;
  for (const auto& [op, count] : missing) list.push_back(fmt::format("{} x{}", op, count));
  throw Error(kUnsupported, fmt::format("[{0}] {1} ops have no lowering: {2}; add rows to "
                                        "src/backends/{0}/lower_*.cpp",
                                        backend, missing.size(), fmt::join(list, ", ")));
}

}  // namespace

void expand_to_rows(Graph& source, std::string_view backend,
                    const std::function<bool(const Op&)>& has_row,
                    const std::function<std::string(const Node&)>& lacking) {
  decompose(source, has_row);
  refuse_unknown(source, backend, has_row, lacking);
}

void check_lowered(const Node& node, std::string_view backend, const std::vector<Value>& got,
                   const std::vector<ValueType>& wanted) {
  SLIPWAY_ASSERT(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i].type() != wanted[i])
      throw Error(kInternal, fmt::format("[{}] {} lowered to {}, need {}", backend, node.op->name(),
                                         to_string(got[i].type()), to_string(wanted[i])));
}

}  // namespace slipway::lowering

// The table of passes.
#include "passes/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"

namespace slipway {

void PassContext::add_reason(std::string_view rule, const std::string& message, const Node* node) {
  Reason reason{std::string(rule), message, "", ""};
  if (node != nullptr) {
    if (node->op != nullptr) reason.op = node->op->name();
    reason.scope = node->scope;
  }
  if (seen_.emplace(reason.rule, reason.message, reason.op, reason.scope).second)
    reasons_.push_back(std::move(reason));
}

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"cse", "merge equal computations and constants",
       [](Graph& g, PassContext&) { return PassResult{cse(g)}; }},
      {"decompose", "replace ops by their bodies",
       [](Graph& g, PassContext& c) {
         const auto keep = [&](const Op& op) { return c.options().keep_ops.count(op.name()) != 0; };
         return PassResult{decompose(g, keep)};
       }},
      {"dce", "drop what no output depends on",
       [](Graph& g, PassContext&) { return PassResult{dce(g)}; }},
  };
  return passes;
}

Pass find_pass(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) {
    if (pass.name == name) return pass;
    names.push_back(pass.name);
  }
  throw Error(kUsage, fmt::format("[passes] there is no pass or rule '{}'; the passes are {}", name,
                                  fmt::join(names, ", ")));
}

}  // namespace slipway

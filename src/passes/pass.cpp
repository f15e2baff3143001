// The table of passes.
#include "passes/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/canonicalize.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"
#include "passes/fold.h"
#include "passes/raise.h"

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
      {"expand_spellings", "write ops that are spellings of simpler ones as those",
       [](Graph& g, PassContext&) { return PassResult{expand_spellings(g)}; }},
      {"canonicalize", "drop identities, spell equal things alike",
       [](Graph& g, PassContext& c) { return PassResult{canonicalize(g, c)}; }},
      {"fold", "compute what depends on small constants only",
       [](Graph& g, PassContext& c) { return PassResult{fold(g, c)}; }},
      {"cse", "merge equal computations and constants",
       [](Graph& g, PassContext&) { return PassResult{cse(g)}; }},
      {"raise", "recover composite ops from their bodies",
       [](Graph& g, PassContext& c) { return PassResult{raise(g, c)}; }},
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

namespace {

/// `rule` is a row of a constant table.
Pass pass_of_rule(const Rule& rule, Precedence precedence) {
  return {rule.name, "one rewrite rule", [&rule, precedence](Graph& g, PassContext& c) {
            return PassResult{apply_rules(g, std::span(&rule, 1), c, precedence)};
          }};
}

}  // namespace

Pass find_pass(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) {
    if (pass.name == name) return pass;
    names.push_back(pass.name);
  }
  const std::pair<std::span<const Rule>, Precedence> tables[] = {
      {arithmetic_identities(), Precedence::kListed},
      {shape_identities(), Precedence::kListed},
      {mask_rules(), Precedence::kListed},
      {spelling_rules(), Precedence::kListed},
      {raising_rules(), Precedence::kLargestFirst}};
  for (const auto& [rules, precedence] : tables)
    for (const Rule& rule : rules)
      if (rule.name == name) return pass_of_rule(rule, precedence);
  throw Error(kUsage, fmt::format("[passes] there is no pass or rule '{}'; the passes are {}", name,
                                  fmt::join(names, ", ")));
}

}  // namespace slipway

// Runs passes in order, some of them until nothing changes, and keeps the books.
#include "passes/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "ir/verify.h"

namespace slipway {
namespace {

/// A graph that a pass broke is our fault, whatever kind of error the verifier gives.
void verify_after(const Pass& pass, const Graph& graph) {
#ifdef NDEBUG
  (void)pass;
  (void)graph;
#else
  try {
    verify(graph);
  } catch (const Error& e) {
    throw Error(kInternal, fmt::format("[pass {}] left a broken graph: {}", pass.name, e.what()));
  }
#endif
}

}  // namespace

Pipeline& Pipeline::add(Pass pass) {
  stages_.push_back({{std::move(pass)}, 1});
  return *this;
}

Pipeline& Pipeline::add(std::string_view name) { return add(find_pass(name)); }

Pipeline& Pipeline::repeat(std::vector<std::string_view> names, int max_rounds) {
  SLIPWAY_ASSERT(!names.empty() && max_rounds > 0);
  Stage stage{{}, max_rounds};
  for (const std::string_view name : names) stage.passes.push_back(find_pass(name));
  stages_.push_back(std::move(stage));
  return *this;
}

std::vector<std::string> Pipeline::names() const {
  std::vector<std::string> result;
  for (const Stage& stage : stages_)
    for (const Pass& pass : stage.passes)
      if (std::find(result.begin(), result.end(), pass.name) == result.end())
        result.emplace_back(pass.name);
  return result;
}

Pipeline& Pipeline::disable(std::string_view name) {
  const std::vector<std::string> known = names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error(kUsage,
                fmt::format("[passes] there is no pass '{}' to switch off; this pipeline has {}",
                            name, fmt::join(known, ", ")));
  disabled_.emplace(name);
  return *this;
}

int64_t Pipeline::run_pass(const Pass& pass, Graph& graph, PassContext& context) {
  const auto start = std::chrono::steady_clock::now();
  int64_t changes = 0;
  try {
    changes = pass.run(graph, context).changes;
  } catch (const Error& e) {
    throw e.with_context(fmt::format("[pass {}]", pass.name));
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  verify_after(pass, graph);
  auto line = std::find_if(report_.begin(), report_.end(),
                           [&](const PassReport& r) { return r.name == pass.name; });
  if (line == report_.end())
    line = report_.insert(report_.end(), PassReport{std::string(pass.name)});
  line->runs += 1;
  line->changes += changes;
  line->seconds += taken.count();
  log::debug(
      fmt::format("pass {}: {} changes in {:.1f} ms", pass.name, changes, taken.count() * 1e3));
  return changes;
}

int64_t Pipeline::run(Graph& graph, PassContext& context) {
  report_.clear();
  int64_t total = 0;
  for (const Stage& stage : stages_) {
    for (int round = 0; round < stage.max_rounds; ++round) {
      int64_t changes = 0;
      for (const Pass& pass : stage.passes)
        if (disabled_.count(pass.name) == 0) changes += run_pass(pass, graph, context);
      total += changes;
      if (changes == 0) break;
    }
  }
  graph.drop_dead();
  return total;
}

}  // namespace slipway

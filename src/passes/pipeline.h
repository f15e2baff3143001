// Runs passes in order, some of them until nothing changes, and keeps the books.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace slipway {

/// What a pass did over a whole run of a pipeline.
struct PassReport {
  std::string name;
  int64_t runs = 0;
  int64_t changes = 0;
  double seconds = 0;
};

/// An ordered list of passes. In debug builds the graph is verified after every pass; a pass that
/// breaks it is Error{kInternal} naming the pass.
class Pipeline {
 public:
  Pipeline& add(Pass pass);
  /// A pass or rule of the registry; Error{kUsage} for an unknown name.
  Pipeline& add(std::string_view name);
  /// Passes repeated in turn until a round changes nothing, at most `max_rounds` times.
  Pipeline& repeat(std::vector<std::string_view> names, int max_rounds = 8);

  /// Skips a pass from now on. Error{kUsage} listing the names when the pipeline has no such pass.
  Pipeline& disable(std::string_view name);

  /// Runs everything; returns the number of changes. Dead nodes are dropped at the end.
  int64_t run(Graph& graph, PassContext& context);

  /// Of the last run: one line per pass, in order of first appearance; disabled ones are absent.
  const std::vector<PassReport>& report() const { return report_; }
  /// Each name once, in order of first appearance.
  std::vector<std::string> names() const;

 private:
  struct Stage {
    std::vector<Pass> passes;
    int max_rounds = 1;
  };

  int64_t run_pass(const Pass& pass, Graph& graph, PassContext& context);

  std::vector<Stage> stages_;
  std::set<std::string, std::less<>> disabled_;
  std::vector<PassReport> report_;
};

}  // namespace slipway

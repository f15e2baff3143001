// Passes by name: what runs over a graph, in which order, what it changed and how long it took.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// What one run of a pass did. 0 changes means that the graph is as it was.
struct PassResult {
  int64_t changes = 0;
};

/// Why a rule that looked applicable did not apply.
struct Reason {
  std::string rule;     ///< "rms_norm"
  std::string message;  ///< "x is not floating point"
  std::string op;       ///< of the node it is about: "aten::mul.Tensor"
  std::string scope;    ///< of that node: "model.layers.0.mlp"
};

struct PassOptions {
  std::set<std::string> keep_ops;  ///< full names that `decompose` leaves alone
  int64_t fold_limit = 1024;       ///< elements of the largest constant that `fold` reads or makes
};

/// What passes share while they run over one graph: options in, reasons out.
class PassContext {
 public:
  explicit PassContext(PassOptions options = {}) : options_(std::move(options)) {}

  const PassOptions& options() const { return options_; }
  /// Keeps the reason once per rule, message and place; `node` may be null.
  void add_reason(std::string_view rule, const std::string& message, const Node* node);
  /// In the order of finding.
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  PassOptions options_;
  std::vector<Reason> reasons_;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen_;
};

/// A named transformation. It may leave dead nodes behind; `dce` drops them.
struct Pass {
  std::string_view name;
  std::string_view description;
  std::function<PassResult(Graph&, PassContext&)> run;
};

/// Every pass of layer 2, in the order in which a back end would run them.
const std::vector<Pass>& all_passes();

/// The pass of this name, or the single rewrite rule of this name ("rms_norm") as a pass of its
/// own. Error{kUsage} listing the names when there is neither.
Pass find_pass(std::string_view name);

}  // namespace slipway

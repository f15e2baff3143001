// A loaded model as users call it: inputs by name, checked, converted and completed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/limits.h"
#include "runtime/session.h"

namespace slipway {

/// Runs a session on inputs that a person supplies. What a runtime would answer with an opaque
/// message, or silently compute wrong, is refused here with the input, the limit and the value.
///
/// Names are leaf names: the prefixes "input." and "output." that tell the two ends of an updated
/// tensor apart are accepted on inputs and left off outputs. Immutable after construction: run()
/// may be called from several threads at once.
class ModelRunner {
 public:
  /// `limits` complete those that the graph itself states. Throws Error{kInvalid} for malformed
  /// metadata.
  explicit ModelRunner(Session session, const RunnerLimits& limits = {});

  /// By leaf name, in the graph's order; states are optional inputs at the end.
  const std::vector<IoSpec>& inputs() const { return inputs_; }
  const std::vector<IoSpec>& outputs() const { return outputs_; }
  const Session& session() const { return session_; }
  const RunnerLimits& limits() const { return limits_; }

  /// Runs on inputs given in any order and returns the wanted outputs, or all. Integer inputs are
  /// converted without loss, what may be left out is filled in (input_defaults.h), inputs that the
  /// graph does not take are dropped with one warning. Each run begins with the graph's first
  /// states or those given; `wanted` may name them, too. Throws Error{kInvalid} naming the input
  /// for whatever does not fit the graph, Error{kUsage} for an unknown output.
  NamedTensors run(const std::map<std::string, Tensor>& given,
                   const std::vector<std::string>& wanted = {}) const;

  /// The first half of run(): checked and complete inputs under the graph's own names, for
  /// Session::run_into.
  std::map<std::string, Tensor> prepare(const std::map<std::string, Tensor>& given) const;

 private:
  std::map<std::string, Tensor> match_names(const std::map<std::string, Tensor>& given) const;
  void require_all(const std::map<std::string, Tensor>& leaves,
                   const std::map<std::string, Tensor>& given) const;
  /// Of the inputs that are there.
  void check_sizes(const std::map<std::string, Tensor>& leaves) const;
  void check_input_values(const std::string& leaf, const Tensor& tensor) const;
  /// The graph's name of a state, or null.
  const std::string* find_state(const std::string& leaf) const;

  Session session_;
  std::string where_;  ///< the file name, in front of messages
  std::vector<IoSpec> inputs_, outputs_;
  RunnerLimits limits_;
};

}  // namespace slipway

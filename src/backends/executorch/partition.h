// Which parts of a lowered graph XNNPACK computes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/executorch/emit.h"

namespace slipway::executorch {

/// What was delegated, and why the rest was not.
struct DelegationReport {
  int64_t delegates = 0;
  std::map<std::string, int64_t> delegated;                     ///< ops and their counts
  std::map<std::pair<std::string, std::string>, int64_t> left;  ///< (op, reason) and counts
  int64_t multiplications = 0, delegated_multiplications = 0;   ///< of products, at upper bounds

  /// Some lines for people.
  std::string to_text() const;
};

/// Groups what XNNPACK takes into as few connected parts as can be called one after the other, and
/// builds their graphs. Ops of no kernel (et::matmul) that stay outside are written as kernels, in
/// `graph`. Deterministic.
std::vector<Partition> partition(Graph& graph, DelegationReport* report = nullptr);

/// Writes ops of no kernel as kernels: what a graph without delegates needs before emit().
void expand_own_ops(Graph& graph, const std::vector<Partition>& kept = {});

}  // namespace slipway::executorch

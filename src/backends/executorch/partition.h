// Which parts of a lowered graph XNNPACK computes.
#pragma once

#include <vector>

#include "backends/executorch/emit.h"
#include "slipway/delegation.h"

namespace slipway::executorch {

/// Groups what XNNPACK takes into as few connected parts as can be called one after the other, and
/// builds their graphs. Ops of no kernel (et::matmul) that stay outside are written as kernels, in
/// `graph`. `report` gets the split. Deterministic.
std::vector<Partition> partition(Graph& graph, Delegation* report = nullptr);

/// Writes ops of no kernel as kernels: what a graph without delegates needs before emit().
void expand_own_ops(Graph& graph, const std::vector<Partition>& kept = {});

}  // namespace slipway::executorch

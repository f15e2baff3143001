// The bytes that the XNNPACK delegate compiles: header XH00 and flatbuffer XN01.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/executorch/xnnpack_graph.h"

namespace slipway::executorch::xnnpack {

/// Static data and scales, each object once, in the order of use.
std::vector<Lazy> static_data(const Graph& graph);

/// Serializes a graph. Its data are not inside: the runtime finds them by the names that `key`
/// gives. Names of one length give as many bytes.
std::string serialize(const Graph& graph, const std::function<std::string(const Lazy& data)>& key);

}  // namespace slipway::executorch::xnnpack

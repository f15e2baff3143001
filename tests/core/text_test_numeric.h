// Runs two graphs on the same seeded numbers.
#pragma once

#include <string>

#include "ir/graph.h"

namespace slipway::text_tests {

/// Evaluates both graphs on seeded inputs, at two sizes per symbol, and compares every output.
/// Returns what differs, or "". `tolerance` 0 means: by dtype.
std::string numeric_difference(const Graph& before, const Graph& after, double tolerance);

}  // namespace slipway::text_tests

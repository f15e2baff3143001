// The passes that exporters run over their graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// Runs the named passes until nothing changes, without those of `disabled`. What each did is
/// logged for `stage`. Error{kUsage} for a disabled name that is no pass.
void optimize(Graph& graph, std::vector<std::string_view> names,
              const std::vector<std::string>& disabled, std::string_view stage);

}  // namespace slipway

// Runs a flat list of instructions with libtorch.
#pragma once

#include <string_view>
#include <vector>

#include "backends/dynamo/runner/code.h"

namespace slipway::dynamo_runner {

/// Runs on one value per graph input (those of slot -1 are not looked at) and returns one per
/// output. `code` is not changed: several threads may run it. Throws Error{kInvalid} naming the
/// node whose op refuses its operands, or whose assertion does not hold; Error{kEnvironment} when
/// memory runs out.
std::vector<c10::IValue> execute(const Code& code, std::vector<c10::IValue> inputs,
                                 std::string_view where);

}  // namespace slipway::dynamo_runner

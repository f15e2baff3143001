// From example inputs and an export configuration to the sizes of a graph.
#pragma once

#include <map>
#include <string>

#include "ir/program.h"
#include "slipway/configs.h"
#include "slipway/model.h"

namespace slipway {

/// What each symbol of a fully symbolic program becomes: a fixed size from the example, a renamed
/// and bounded symbol, or itself (left out). Throws Error{kInvalid} naming the input, the axis and
/// both sides where the example, the dynamic shapes and the model do not agree.
std::map<std::string, Sym> resolve_dims(const ExportedProgram& symbolic, const Inputs& inputs,
                                        const ExportConfig& config);

}  // namespace slipway

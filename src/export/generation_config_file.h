// generation_config.json of an export.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "slipway/generation_config.h"

namespace slipway {

/// Writes the fields that are set into the generation_config.json among the companion files, which
/// is added where it is missing. Nothing is changed when no field is set.
void set_generation_config(std::vector<CompanionFile>& companions, const GenerationConfig& config);

}  // namespace slipway

// Inputs and outputs as text and JSON, the same in every command.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "slipway/exported_model.h"

namespace slipway::cli {

/// [{"name": "input_ids", "dtype": "int64", "dims": ["batch_size", 64]}].
Json leaves_json(const std::vector<LeafSpec>& leaves);

/// One indented line each; runs of leaves that differ in a layer's number only are one line.
std::string leaves_text(const std::vector<LeafSpec>& leaves);

}  // namespace slipway::cli

// The metadata of a freshly exported component.
#pragma once

#include "export/impl.h"
#include "slipway/configs.h"

namespace slipway {

/// What export.json records: versions, configuration, traced arguments, tree specs.
ExportMetadata metadata_of(const PreTrainedModel& model, const ExportedProgram& program,
                           const Inputs& inputs, const ExportConfig& config);

/// The sliding windows of masks that callers make, as the text of the metadata "slipway.masks".
std::string masks_text(const std::map<std::string, std::optional<int64_t>>& windows);

/// A leaf name's top-level argument: "past_key_values" of "past_key_values.layers.0.keys".
std::string argument_of(const std::string& leaf);

}  // namespace slipway

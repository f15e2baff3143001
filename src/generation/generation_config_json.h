// GenerationConfig out of the JSON documents of a checkpoint or an export.
#pragma once

#include "base/json.h"
#include "slipway/generation_config.h"

namespace slipway {

/// The settings of generation_config.json; end tokens and the padding token, key by key, also from
/// config.json and its text_config. Either document may be null; null values are not set. Throws
/// Error{kInvalid} naming the file and key for a value of the wrong type.
GenerationConfig generation_config_from_json(const Json& generation_config, const Json& config);

}  // namespace slipway

// Outputs that a graph does not give, taken out of what is recorded about it.
#pragma once

#include <set>
#include <string>

#include "slipway/metadata.h"

namespace slipway {

/// Takes every field of the recorded output structure whose leaves are all in `leaves` away, by
/// their dotted names: what a graph keeps inside is no output. Indices of constants follow. A
/// structure without fields stays as it is.
void drop_outputs(ExportMetadata& metadata, const std::set<std::string>& leaves);

}  // namespace slipway

// What can be learned from a .pt2 file without loading it in libtorch.
#pragma once

#include <filesystem>

#include "base/file_summary.h"

namespace slipway::dynamo {

/// Reads a file. Inputs and outputs have the names that the runner gives them. Throws what
/// ProgramFile::open and read_contract throw.
FileSummary read_summary(const std::filesystem::path& path);

}  // namespace slipway::dynamo

// The files beside a checkpoint's weights that travel with an export.
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace slipway {

/// Tokenizer, chat template, generation and processor files that are present in a folder, sorted by
/// name. Throws Error{kInvalid} for one that is there but cannot be a file: a folder, or a link
/// whose target is gone.
std::vector<CompanionFile> find_companions(const std::filesystem::path& directory);

}  // namespace slipway

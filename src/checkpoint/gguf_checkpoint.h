// A .gguf file as a checkpoint.
#pragma once

#include <filesystem>

#include "checkpoint/checkpoint.h"

namespace slipway {

/// Maps a file and rebuilds what a directory would have beside its weights: the configuration,
/// generation_config.json and the tokenizer's files. Throws as open_checkpoint() does.
Checkpoint open_gguf_checkpoint(const std::filesystem::path& path);

}  // namespace slipway

// A checkpoint: a directory of config.json and safetensors, or one .gguf file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/weight_store.h"

namespace slipway {

/// A file that travels with an export unchanged: tokenizer, chat template, generation settings.
struct CompanionFile {
  std::string name;  ///< a plain file name, or one in a sub-folder with a fixed name
  /// The file to copy, or the contents where they were rebuilt from GGUF metadata.
  std::variant<std::filesystem::path, std::string> source;
};

struct Checkpoint {
  std::filesystem::path path;
  Config config;
  std::shared_ptr<const WeightStore> weights;
  std::vector<CompanionFile> companions;  ///< sorted by name
};

/// Opens a directory or a .gguf file. Everything that can be checked without reading weights is
/// checked here: headers, sizes of every shard, names, the config's consistency. Throws
/// Error{kInvalid} for a broken checkpoint and Error{kUnsupported} for a scheme not known here.
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace slipway

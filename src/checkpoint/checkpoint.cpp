// Opening a checkpoint: which kind it is, then its config, weights and companion files.
#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/output.h"
#include "checkpoint/companions.h"
#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/names.h"
#include "checkpoint/quantization.h"
#include "checkpoint/safetensors.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

bool starts_as_gguf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, 4) && std::string_view(magic, 4) == "GGUF";
}

std::vector<std::string> gguf_files(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".gguf") names.push_back(it->path().filename().string());
  if (error)
    throw Error(kInvalid, fmt::format("[checkpoint] cannot read the folder {}: {}",
                                      display(directory), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

Checkpoint open_directory(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(directory / "config.json", ignored))) {
    const std::vector<std::string> files = gguf_files(directory);
    if (files.size() == 1) return open_gguf_checkpoint(directory / files.front());
    throw Error(kInvalid,
                fmt::format("[checkpoint] {} has no config.json{}", display(directory),
                            files.empty() ? ", need one beside the weights, or one .gguf file"
                                          : " but several .gguf files; give the path of one of " +
                                                list_names(files)));
  }
  Checkpoint checkpoint;
  checkpoint.path = directory;
  checkpoint.config = Config::from_file(directory / "config.json");
  check_quantization(checkpoint.config);
  checkpoint.weights = open_quantization(open_safetensors(directory), checkpoint.config);
  checkpoint.companions = find_companions(directory);
  return checkpoint;
}

}  // namespace

Checkpoint open_checkpoint(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw Error(kInvalid,
                fmt::format("[checkpoint] {} does not exist{}, need a checkpoint folder or "
                            "a .gguf file",
                            display(path), error ? " (" + error.message() + ")" : ""));
  if (fs::is_directory(status)) return open_directory(path);
  if (path.extension() == ".gguf" || starts_as_gguf(path)) return open_gguf_checkpoint(path);
  throw Error(kInvalid, fmt::format("[checkpoint] {} is no .gguf file, need one or the folder of "
                                    "config.json and the weights",
                                    display(path)));
}

}  // namespace slipway

// A .gguf file as a checkpoint.
#include "checkpoint/gguf_checkpoint.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_store.h"
#include "checkpoint/gguf_tokenizer.h"

namespace slipway {

Checkpoint open_gguf_checkpoint(const std::filesystem::path& path) {
  const auto mapped = MappedFile::open(path);
  const auto file = GgufFile::parse(mapped->bytes(), path.string(), mapped);
  Checkpoint out;
  out.path = path;
  out.config = Config::from_json(gguf_config(*file), path.string());
  out.weights = gguf_weights(file);
  out.companions = gguf_tokenizer_files(*file);
  out.companions.push_back(
      {"generation_config.json", gguf_generation_config(*file).dump(2) + "\n"});
  std::sort(out.companions.begin(), out.companions.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace slipway

// The files beside a checkpoint's weights that travel with an export.
#include "checkpoint/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/output.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

// Sorted, as find_companions() promises.
constexpr std::array<const char*, 23> kNames = {
    "1_Pooling/config.json",  // the place that sentence-transformers fixes
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "config_sentence_transformers.json",
    "generation_config.json",
    "image_processor_config.json",
    "merges.txt",
    "modules.json",
    "preprocessor_config.json",
    "processor_config.json",
    "sentence_bert_config.json",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "video_preprocessor_config.json",
    "vocab.bpe",
    "vocab.json",
    "vocab.txt",
    "vocabulary.txt",
};

}  // namespace

std::vector<CompanionFile> find_companions(const fs::path& directory) {
  SLIPWAY_ASSERT(std::is_sorted(kNames.begin(), kNames.end(),
                                [](std::string_view a, std::string_view b) { return a < b; }));
  std::vector<CompanionFile> files;
  std::error_code error;
  for (const char* name : kNames) {
    const fs::path path = directory / name;
    if (!fs::exists(fs::symlink_status(path, error))) continue;
    if (!fs::is_regular_file(fs::status(path, error)))
      throw Error(kInvalid, fmt::format("[checkpoint] {} is a folder or a link to nothing, need a "
                                        "file; fetch the checkpoint again or remove it",
                                        display(path)));
    files.push_back({name, path});
  }
  return files;
}

}  // namespace slipway

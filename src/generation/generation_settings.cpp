// Where generation ends and what it pads with, as a checkpoint's files state it.
#include "generation/generation_settings.h"

#include <fmt/format.h>

#include "slipway/error.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

struct Source {
  const char* file;
  const Json& json;
};

int64_t checked(const Source& source, const std::string& key, const Json& value, int64_t min) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= (uint64_t{1} << 40));
  if (!fits || value.get<int64_t>() < min)
    throw Error(kInvalid, fmt::format("[generate] {}: {} is {}, need an integer of at least {}",
                                      source.file, key, describe(value), min));
  return value.get<int64_t>();
}

const Json* find(const Source& source, const std::string& key) {
  if (!source.json.is_object()) return nullptr;
  const auto at = source.json.find(key);
  return at == source.json.end() || at->is_null() ? nullptr : &*at;
}

void read(const Source& source, const std::string& key, int64_t min, std::optional<int64_t>& into) {
  if (const Json* value = find(source, key); value != nullptr && !into)
    into = checked(source, key, *value, min);
}

void read_eos(const Source& source, std::vector<int64_t>& into) {
  const Json* value = find(source, "eos_token_id");
  if (value == nullptr || !into.empty()) return;
  if (!value->is_array()) into.push_back(checked(source, "eos_token_id", *value, 0));
  else
    for (const Json& id : *value) into.push_back(checked(source, "eos_token_id", id, 0));
}

Json read_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) ? parse_json_file(path) : Json();
}

}  // namespace

GenerationSettings GenerationSettings::from_json(const Json& generation_config,
                                                 const Json& config) {
  GenerationSettings settings;
  const Source first{"generation_config.json", generation_config};
  read(first, "max_new_tokens", 1, settings.max_new_tokens);
  read(first, "max_length", 1, settings.max_length);
  std::vector<Source> sources = {first, {"config.json", config}};
  if (const Json* text = find(sources[1], "text_config")) sources.push_back({"config.json", *text});
  for (const Source& source : sources) {
    read_eos(source, settings.eos_ids);
    // Some files write -1 where they mean none.
    const Json* pad = find(source, "pad_token_id");
    if (pad != nullptr && *pad != -1) read(source, "pad_token_id", 0, settings.pad_id);
  }
  return settings;
}

GenerationSettings GenerationSettings::from_directory(const fs::path& directory) {
  return from_json(read_file(directory / "generation_config.json"),
                   read_file(directory / "config.json"));
}

}  // namespace slipway

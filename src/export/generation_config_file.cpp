// generation_config.json of an export.
#include "export/generation_config_file.h"

#include <algorithm>

#include "base/json.h"

namespace slipway {
namespace {

constexpr const char* kFile = "generation_config.json";

Json read(const CompanionFile& file) {
  if (const auto* path = std::get_if<std::filesystem::path>(&file.source))
    return parse_json_file(*path);
  return parse_json(std::get<std::string>(file.source), file.name);
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

void put_all(Json& json, const GenerationConfig& c) {
  put(json, "max_new_tokens", c.max_new_tokens);
  put(json, "max_length", c.max_length);
  put(json, "min_new_tokens", c.min_new_tokens);
  put(json, "min_length", c.min_length);
  if (c.eos_token_id)
    json["eos_token_id"] =
        c.eos_token_id->size() == 1 ? Json(c.eos_token_id->front()) : Json(*c.eos_token_id);
  put(json, "pad_token_id", c.pad_token_id);
  put(json, "stop_strings", c.stop_strings);
  put(json, "do_sample", c.do_sample);
  put(json, "temperature", c.temperature);
  put(json, "top_k", c.top_k);
  put(json, "top_p", c.top_p);
  put(json, "min_p", c.min_p);
  put(json, "repetition_penalty", c.repetition_penalty);
  put(json, "no_repeat_ngram_size", c.no_repeat_ngram_size);
  put(json, "num_beams", c.num_beams);
  put(json, "length_penalty", c.length_penalty);
  if (c.early_stopping) {
    if (*c.early_stopping == EarlyStopping::kNever) json["early_stopping"] = "never";
    else json["early_stopping"] = *c.early_stopping == EarlyStopping::kTrue;
  }
  put(json, "num_return_sequences", c.num_return_sequences);
  put(json, "prompt_lookup_num_tokens", c.prompt_lookup_num_tokens);
  put(json, "max_matching_ngram_size", c.max_matching_ngram_size);
  put(json, "cache_implementation", c.cache_implementation);
  put(json, "max_cache_len", c.max_cache_len);
}

}  // namespace

void set_generation_config(std::vector<CompanionFile>& companions, const GenerationConfig& config) {
  Json set = Json::object();
  put_all(set, config);
  if (set.empty()) return;
  auto at = std::find_if(companions.begin(), companions.end(),
                         [](const CompanionFile& file) { return file.name == kFile; });
  Json json = at == companions.end() ? Json::object() : read(*at);
  if (!json.is_object()) json = Json::object();
  json.update(set);
  CompanionFile file{kFile, json.dump(2) + "\n"};
  if (at != companions.end()) *at = std::move(file);
  else companions.push_back(std::move(file));
}

}  // namespace slipway

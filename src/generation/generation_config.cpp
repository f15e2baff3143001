// GenerationConfig: read from a checkpoint's files, and completed by other settings.
#include "slipway/generation_config.h"

#include <fmt/format.h>

#include "base/log.h"
#include "generation/generation_config_json.h"
#include "slipway/error.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// One JSON document; its keys are read into fields that are not set yet.
class Source {
 public:
  Source(const char* file, const Json& json) : file_(file), json_(json) {
    if (!json.is_null() && !json.is_object())
      throw Error(kInvalid,
                  fmt::format("[generate] {} is {}, need an object", file, describe(json)));
  }

  void read(const char* key, std::optional<int64_t>& into) const {
    if (const Json* value = find(key); value != nullptr && !into) into = integer(key, *value);
  }
  void read(const char* key, std::optional<double>& into) const {
    const Json* value = find(key);
    if (value == nullptr || into) return;
    if (!value->is_number()) throw wrong(key, *value, "a number");
    into = value->get<double>();
  }
  void read(const char* key, std::optional<bool>& into) const {
    const Json* value = find(key);
    if (value == nullptr || into) return;
    if (!value->is_boolean()) throw wrong(key, *value, "true or false");
    into = value->get<bool>();
  }
  void read(const char* key, std::optional<std::string>& into) const {
    const Json* value = find(key);
    if (value == nullptr || into) return;
    if (!value->is_string()) throw wrong(key, *value, "a text");
    into = value->get<std::string>();
  }
  /// One value or a list of them.
  void read(const char* key, std::optional<std::vector<std::string>>& into) const {
    const Json* value = find(key);
    if (value == nullptr || into) return;
    into.emplace();
    for (const Json& item : value->is_array() ? *value : Json::array({*value})) {
      if (!item.is_string()) throw wrong(key, item, "a text");
      into->push_back(item.get<std::string>());
    }
  }
  void read(const char* key, std::optional<EarlyStopping>& into) const {
    const Json* value = find(key);
    if (value == nullptr || into) return;
    if (*value == "never") into = EarlyStopping::kNever;
    else if (value->is_boolean())
      into = value->get<bool>() ? EarlyStopping::kTrue : EarlyStopping::kFalse;
    else throw wrong(key, *value, "true, false or \"never\"");
  }
  /// A token, or a list of them. Some files write -1 where they mean none.
  void read_token(const char* key, std::optional<int64_t>& into) const {
    const Json* value = find(key);
    if (value != nullptr && *value != -1 && !into) into = token(key, *value);
  }
  void read_tokens(const char* key, std::optional<std::vector<int64_t>>& into) const {
    const Json* value = find(key);
    if (value == nullptr || *value == -1 || into) return;
    std::vector<int64_t> ids;
    for (const Json& item : value->is_array() ? *value : Json::array({*value}))
      ids.push_back(token(key, item));
    if (!ids.empty()) into = std::move(ids);
  }

 private:
  const Json* find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto at = json_.find(key);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }
  Error wrong(const char* key, const Json& value, const char* need) const {
    return Error(kInvalid, fmt::format("[generate] {}: {} is {}, need {}", file_, key,
                                       describe(value), need));
  }
  int64_t integer(const char* key, const Json& value) const {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{1} << 40) &&
                      value.get<int64_t>() >= -(int64_t{1} << 40);
    if (!fits) throw wrong(key, value, "an integer");
    return value.get<int64_t>();
  }
  int64_t token(const char* key, const Json& value) const {
    if (!value.is_number_integer() || integer(key, value) < 0)
      throw wrong(key, value, "an integer of at least 0");
    return value.get<int64_t>();
  }

  const char* file_;
  const Json& json_;
};

/// Settings of the reference that change its tokens and are not known here, with the values that
/// change nothing.
void warn_of_unknown(const Json& json) {
  static const Json kNeutral = {{"bad_words_ids", nullptr},
                                {"begin_suppress_tokens", nullptr},
                                {"diversity_penalty", 0.0},
                                {"dola_layers", nullptr},
                                {"encoder_no_repeat_ngram_size", 0},
                                {"encoder_repetition_penalty", 1.0},
                                {"epsilon_cutoff", 0.0},
                                {"eta_cutoff", 0.0},
                                {"exponential_decay_length_penalty", nullptr},
                                {"force_words_ids", nullptr},
                                {"forced_bos_token_id", nullptr},
                                {"forced_eos_token_id", nullptr},
                                {"guidance_scale", 1.0},
                                {"max_time", nullptr},
                                {"num_beam_groups", 1},
                                {"penalty_alpha", 0.0},
                                {"renormalize_logits", false},
                                {"sequence_bias", nullptr},
                                {"suppress_tokens", nullptr},
                                {"top_h", nullptr},
                                {"typical_p", 1.0},
                                {"watermarking_config", nullptr}};
  if (!json.is_object()) return;
  for (const auto& [key, neutral] : kNeutral.items()) {
    const auto at = json.find(key);
    const bool is_set =
        at != json.end() && !at->is_null() && *at != neutral && !(at->is_array() && at->empty());
    if (is_set)
      log::warning_once(
          fmt::format("generation_config.json sets {}, which is not supported: tokens "
                      "may differ from the reference's",
                      key));
  }
}

Json read_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) ? parse_json_file(path) : Json();
}

template <class T>
void complete(std::optional<T>& field, const std::optional<T>& other) {
  if (!field) field = other;
}

}  // namespace

GenerationConfig generation_config_from_json(const Json& generation_config, const Json& config) {
  GenerationConfig read;
  const Source first("generation_config.json", generation_config);
  warn_of_unknown(generation_config);
  first.read("max_new_tokens", read.max_new_tokens);
  first.read("max_length", read.max_length);
  first.read("min_new_tokens", read.min_new_tokens);
  first.read("min_length", read.min_length);
  first.read("stop_strings", read.stop_strings);
  first.read("do_sample", read.do_sample);
  first.read("temperature", read.temperature);
  first.read("top_k", read.top_k);
  first.read("top_p", read.top_p);
  first.read("min_p", read.min_p);
  first.read("repetition_penalty", read.repetition_penalty);
  first.read("no_repeat_ngram_size", read.no_repeat_ngram_size);
  first.read("num_beams", read.num_beams);
  first.read("length_penalty", read.length_penalty);
  first.read("early_stopping", read.early_stopping);
  first.read("num_return_sequences", read.num_return_sequences);
  first.read("prompt_lookup_num_tokens", read.prompt_lookup_num_tokens);
  first.read("max_matching_ngram_size", read.max_matching_ngram_size);
  first.read("cache_implementation", read.cache_implementation);
  first.read("max_cache_len", read.max_cache_len);
  const Source second("config.json", config);
  const auto text = config.is_object() ? config.find("text_config") : config.end();
  const Json none;
  const Source third("config.json", config.is_object() && text != config.end() ? *text : none);
  for (const Source* source : {&first, &second, &third}) {
    source->read_tokens("eos_token_id", read.eos_token_id);
    source->read_token("pad_token_id", read.pad_token_id);
  }
  return read;
}

GenerationConfig GenerationConfig::from_pretrained(const fs::path& directory) {
  return generation_config_from_json(read_file(directory / "generation_config.json"),
                                     read_file(directory / "config.json"));
}

GenerationConfig GenerationConfig::merged(const GenerationConfig& defaults) const {
  GenerationConfig all = *this;
  if (!max_length) complete(all.max_new_tokens, defaults.max_new_tokens);
  if (!max_new_tokens) complete(all.max_length, defaults.max_length);
  if (!min_length) complete(all.min_new_tokens, defaults.min_new_tokens);
  if (!min_new_tokens) complete(all.min_length, defaults.min_length);
  complete(all.eos_token_id, defaults.eos_token_id);
  complete(all.pad_token_id, defaults.pad_token_id);
  complete(all.stop_strings, defaults.stop_strings);
  complete(all.do_sample, defaults.do_sample);
  complete(all.temperature, defaults.temperature);
  complete(all.top_k, defaults.top_k);
  complete(all.top_p, defaults.top_p);
  complete(all.min_p, defaults.min_p);
  complete(all.repetition_penalty, defaults.repetition_penalty);
  complete(all.no_repeat_ngram_size, defaults.no_repeat_ngram_size);
  complete(all.seed, defaults.seed);
  complete(all.num_beams, defaults.num_beams);
  complete(all.length_penalty, defaults.length_penalty);
  complete(all.early_stopping, defaults.early_stopping);
  complete(all.num_return_sequences, defaults.num_return_sequences);
  complete(all.prompt_lookup_num_tokens, defaults.prompt_lookup_num_tokens);
  complete(all.max_matching_ngram_size, defaults.max_matching_ngram_size);
  complete(all.cache_implementation, defaults.cache_implementation);
  complete(all.max_cache_len, defaults.max_cache_len);
  return all;
}

}  // namespace slipway

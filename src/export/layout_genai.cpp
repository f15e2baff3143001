// genai_config.json: what onnxruntime-genai must be told about a decoder.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "export/layout.h"

namespace slipway {
namespace {

/// The names of plain decoders that release 0.18 knows, where they are Hugging Face's model_type.
/// Others run as "decoder", which means the same.
constexpr std::array<std::string_view, 15> kTypes = {
    "chatglm", "ernie4_5", "gemma", "gemma2", "gemma3_text", "granite", "internlm2", "llama",
    "mistral", "nemotron", "olmo",  "phi",    "qwen2",       "qwen3",   "smollm3"};

/// A setting and the file it came from.
struct Setting {
  const Json* value = nullptr;
  const char* file = "";
};

class Settings {
 public:
  Settings(const Json& generation, const Json& config) : generation_(generation), config_(config) {}

  Setting find(const char* key) const {
    if (const Setting found = find_generation(key); found.value != nullptr) return found;
    return in(config_, "config.json", key);
  }
  Setting find_generation(const char* key) const {
    return in(generation_, "generation_config.json", key);
  }

 private:
  static Setting in(const Json& json, const char* file, const char* key) {
    if (!json.is_object()) return {};
    const auto at = json.find(key);
    return at == json.end() || at->is_null() ? Setting{} : Setting{&*at, file};
  }

  const Json& generation_;
  const Json& config_;
};

[[noreturn]] void fail(const Setting& setting, const char* key, std::string_view need) {
  throw Error(kInvalid, fmt::format("[layout] {}: {} is {}, need {}", setting.file, key,
                                    describe(*setting.value), need));
}

/// An integer that genai holds in 32 bits.
int64_t integer(const Setting& setting, const char* key, const Json& value, int64_t min) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= INT32_MAX) &&
                    value.get<int64_t>() >= min && value.get<int64_t>() <= INT32_MAX;
  if (!fits) fail(setting, key, fmt::format("an integer from {} to {}", min, INT32_MAX));
  return value.get<int64_t>();
}

/// An id, or nothing where the files have none; some write -1 for that.
std::optional<int64_t> id(const Settings& settings, const char* key) {
  const Setting found = settings.find(key);
  if (found.value == nullptr || *found.value == -1) return std::nullopt;
  return integer(found, key, *found.value, 0);
}

std::vector<int64_t> end_ids(const Settings& settings) {
  constexpr const char* kKey = "eos_token_id";
  const Setting found = settings.find(kKey);
  std::vector<int64_t> ids;
  if (found.value != nullptr && found.value->is_array())
    for (const Json& item : *found.value) ids.push_back(integer(found, kKey, item, 0));
  else if (found.value != nullptr) ids.push_back(integer(found, kKey, *found.value, 0));
  if (ids.empty())
    throw Error(kInvalid,
                "[layout] neither generation_config.json nor config.json has an "
                "eos_token_id, and onnxruntime-genai needs one to stop; add it to "
                "config.json");
  return ids;
}

/// A number of generation_config.json at least `min`, or the reference's default.
Json number(const Settings& settings, const char* key, double min, Json fallback) {
  const Setting found = settings.find_generation(key);
  if (found.value == nullptr) return fallback;
  if (fallback.is_number_integer())
    return integer(found, key, *found.value, static_cast<int64_t>(min));
  if (!found.value->is_number() || !(found.value->get<double>() >= min))
    fail(found, key, fmt::format("a number of at least {}", min));
  return *found.value;
}

Json flag(const Settings& settings, const char* key) {
  const Setting found = settings.find_generation(key);
  if (found.value == nullptr) return false;
  if (found.value->is_string()) return false;  // early_stopping "never": as long as beams can win
  if (!found.value->is_boolean()) fail(found, key, "true or false");
  return *found.value;
}

Json search(const Settings& settings, int64_t context_length) {
  const int64_t stated = number(settings, "max_length", 1, context_length).get<int64_t>();
  constexpr double kAny = -INFINITY;
  return {{"diversity_penalty", number(settings, "diversity_penalty", kAny, 0.0)},
          {"do_sample", flag(settings, "do_sample")},
          {"early_stopping", flag(settings, "early_stopping")},
          {"length_penalty", number(settings, "length_penalty", kAny, 1.0)},
          {"max_length", std::min(stated, context_length)},
          {"min_length", number(settings, "min_length", 0, 0)},
          {"no_repeat_ngram_size", number(settings, "no_repeat_ngram_size", 0, 0)},
          {"num_beams", number(settings, "num_beams", 1, 1)},
          {"num_return_sequences", number(settings, "num_return_sequences", 1, 1)},
          // The graph appends to its cache: what goes in and what comes out differ in length.
          {"past_present_share_buffer", false},
          {"repetition_penalty", number(settings, "repetition_penalty", 0, 1.0)},
          {"temperature", number(settings, "temperature", 0, 1.0)},
          {"top_k", number(settings, "top_k", 0, 50)},
          {"top_p", number(settings, "top_p", 0, 1.0)}};
}

/// Sizes of the cache inputs, which are what a reader makes empty caches from.
struct CacheSizes {
  int64_t layers = 0, heads = 0, head_size = 0;
};

CacheSizes cache_sizes(const Graph& graph) {
  CacheSizes sizes;
  for (const Node* input : graph.inputs()) {
    if (!input->name.starts_with("past_key_values.") || !input->name.ends_with(".key")) continue;
    ++sizes.layers;
    sizes.heads = input->types[0].shape[1].value();
    sizes.head_size = input->types[0].shape[3].value();
  }
  return sizes;
}

Json decoder(const Graph& graph, const Config& config, const std::string& graph_file) {
  Json inputs = Json::object();
  for (const char* name : {"input_ids", "attention_mask", "position_ids"})
    if (std::ranges::any_of(graph.inputs(), [&](const Node* n) { return n->name == name; }))
      inputs[name] = name;
  inputs["past_key_names"] = "past_key_values.%d.key";
  inputs["past_value_names"] = "past_key_values.%d.value";
  const CacheSizes sizes = cache_sizes(graph);
  return {
      {"session_options", {{"log_id", "onnxruntime-genai"}, {"provider_options", Json::array()}}},
      {"filename", graph_file},
      {"head_size", sizes.head_size},
      {"hidden_size", config.get_int("hidden_size", 1, INT32_MAX)},
      {"inputs", inputs},
      {"outputs",
       {{"logits", "logits"},
        {"present_key_names", "present.%d.key"},
        {"present_value_names", "present.%d.value"}}},
      {"num_attention_heads", config.get_int("num_attention_heads", 1, INT32_MAX)},
      {"num_hidden_layers", sizes.layers},
      {"num_key_value_heads", sizes.heads}};
}

}  // namespace

std::string genai_config(const ExportedModel::Impl& exported, const std::string& graph_file) {
  const Json generation = generation_config_of(exported.companions);
  const Config config =
      Config::from_json(parse_json(exported.config, "config.json"), "config.json").text();
  const Settings settings(generation, config.json());
  const Graph& graph = exported.components[0].second.program.impl().fresh->graph();
  const std::vector<int64_t> ends = end_ids(settings);
  const int64_t context_length = config.get_int("max_position_embeddings", 1, INT32_MAX);
  const std::string type = config.model_type();
  Json model = {{"context_length", context_length},
                {"decoder", decoder(graph, config, graph_file)},
                {"eos_token_id", ends.size() == 1 ? Json(ends[0]) : Json(ends)},
                {"pad_token_id", id(settings, "pad_token_id").value_or(ends[0])},
                {"type", std::ranges::find(kTypes, type) != kTypes.end() ? type : "decoder"},
                {"vocab_size", config.get_int("vocab_size", 1, INT32_MAX)}};
  if (const auto begin = id(settings, "bos_token_id")) model["bos_token_id"] = *begin;
  return Json({{"model", model}, {"search", search(settings, context_length)}}).dump(4) + "\n";
}

}  // namespace slipway

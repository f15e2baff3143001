// config.json and generation_config.json rebuilt from GGUF metadata.
#include "checkpoint/gguf_config.h"

#include <fmt/format.h>

#include "checkpoint/gguf_names.h"

namespace slipway {
namespace {

constexpr int64_t kMaxSize = INT32_MAX;

/// The metadata of one architecture: keys without their prefix.
class Keys {
 public:
  explicit Keys(const GgufFile& file) : file_(file) {}

  int64_t get(std::string_view key) const {
    return file_.metadata().get_int(gguf_key(file_, key), 1, kMaxSize);
  }
  std::optional<int64_t> find(std::string_view key) const {
    return file_.metadata().find_int(gguf_key(file_, key), 0, kMaxSize);
  }
  double number(std::string_view key) const {
    return file_.metadata().get_double(gguf_key(file_, key));
  }
  [[noreturn]] void unsupported(std::string_view key, const std::string& problem) const {
    throw Error(kUnsupported,
                fmt::format("[gguf] {}: {}: {}", file_.where(), gguf_key(file_, key), problem));
  }

 private:
  const GgufFile& file_;
};

int64_t head_dim(const GgufFile& file, const Keys& keys) {
  const int64_t hidden = keys.get("embedding_length"), heads = keys.get("attention.head_count");
  const auto key = keys.find("attention.key_length"), value = keys.find("attention.value_length");
  const auto rotary = keys.find("rope.dimension_count");
  if (!key && !rotary && hidden % heads != 0)
    throw Error(kInvalid,
                fmt::format("[gguf] {}: got {} heads for a width of {}, need a divisor "
                            "or {}",
                            file.where(), heads, hidden, gguf_key(file, "attention.key_length")));
  const int64_t size = key ? *key : rotary ? *rotary : hidden / heads;
  if (value && *value != size)
    keys.unsupported("attention.value_length",
                     fmt::format("got {}, need the size of keys, {}", *value, size));
  if (rotary && *rotary != size)
    keys.unsupported("rope.dimension_count",
                     fmt::format("got {}, need the head size, {}", *rotary, size));
  if (size < 2 || size % 2 != 0)
    throw Error(kInvalid, fmt::format("[gguf] {}: got a head size of {}, need an even one",
                                      file.where(), size));
  return size;
}

int64_t vocab_size(const GgufFile& file, const Keys& keys) {
  if (const auto stated = keys.find("vocab_size")) return *stated;
  const GgufValue* tokens = file.metadata().find("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->type == GgufType::kArray && tokens->count <= kMaxSize)
    return static_cast<int64_t>(tokens->count);
  const GgufTensor* table = file.find("token_embd.weight");
  if (table != nullptr && !table->shape.empty()) return table->shape[0];
  throw Error(kInvalid,
              fmt::format("[gguf] {}: nothing states the vocabulary's size: neither {} nor "
                          "tokenizer.ggml.tokens nor token_embd.weight is there",
                          file.where(), gguf_key(file, "vocab_size")));
}

void refuse_unknown_attention(const Keys& keys, int64_t context) {
  const auto window = keys.find("attention.sliding_window");
  if (window && *window != 0 && *window < context)
    keys.unsupported("attention.sliding_window",
                     fmt::format("got {}, windows are not known for this architecture", *window));
  const auto experts = keys.find("expert_count");
  if (experts && *experts != 0)
    keys.unsupported("expert_count", fmt::format("got {}, experts are not supported", *experts));
}

/// Token ids, null where there is none.
void add_token_ids(const GgufFile& file, Json& json) {
  for (const auto& [key, name] :
       {std::pair{"bos_token_id", "bos"}, std::pair{"eos_token_id", "eos"},
        std::pair{"pad_token_id", "padding"}}) {
    const auto id = gguf_token_id(file, name);
    json[key] = id ? Json(*id) : Json(nullptr);
  }
}

}  // namespace

std::optional<int64_t> gguf_token_id(const GgufFile& file, std::string_view name) {
  constexpr int64_t kNone = 0xffffffff;
  const auto id =
      file.metadata().find_int(fmt::format("tokenizer.ggml.{}_token_id", name), -1, kNone);
  if (!id || *id == -1 || *id == kNone) return std::nullopt;
  if (*id > kMaxSize)
    throw Error(kInvalid, fmt::format("[gguf] {}: tokenizer.ggml.{}_token_id: got {}, need a token",
                                      file.where(), name, *id));
  return id;
}

Json gguf_config(const GgufFile& file) {
  const GgufArchitecture& architecture = gguf_architecture(file);
  const Keys keys(file);
  const int64_t layers = gguf_layers(file), hidden = keys.get("embedding_length");
  const int64_t heads = keys.get("attention.head_count"), size = head_dim(file, keys);
  const auto kv_heads = keys.find("attention.head_count_kv");
  const int64_t context = keys.get("context_length");
  refuse_unknown_attention(keys, context);

  const bool llama = architecture.name == "llama";
  const bool qwen = architecture.name == "qwen2" || architecture.name == "qwen3";

  Json json;
  json["architectures"] = Json::array({std::string(architecture.class_name)});
  if (llama || architecture.name == "qwen3")
    json["attention_bias"] = file.find("blk.0.attn_q.bias") != nullptr;
  json["attention_dropout"] = 0.0;
  json["dtype"] = "float32";
  add_token_ids(file, json);
  if (architecture.name != "qwen2" || size * heads != hidden) json["head_dim"] = size;
  json["hidden_act"] = "silu";
  json["hidden_size"] = hidden;
  json["initializer_range"] = 0.02;
  json["intermediate_size"] = keys.get("feed_forward_length");
  if (qwen) json["layer_types"] = Json(static_cast<size_t>(layers), "full_attention");
  json["max_position_embeddings"] = context;
  if (qwen) json["max_window_layers"] = 28;
  if (llama) json["mlp_bias"] = file.find("blk.0.ffn_gate.bias") != nullptr;
  json["model_type"] = std::string(architecture.model_type);
  json["num_attention_heads"] = heads;
  json["num_hidden_layers"] = layers;
  json["num_key_value_heads"] = kv_heads.value_or(heads);
  if (llama) json["pretraining_tp"] = 1;
  json["rms_norm_eps"] = keys.number("attention.layer_norm_rms_epsilon");
  json["rope_parameters"] = gguf_rope_parameters(file, size);
  if (qwen) json["sliding_window"] = nullptr;
  json["tie_word_embeddings"] = file.find("output.weight") == nullptr;
  json["transformers_version"] = "5.23.0";
  if (const auto unknown = gguf_token_id(file, "unknown")) json["unk_token_id"] = *unknown;
  json["use_cache"] = true;
  if (qwen) json["use_sliding_window"] = false;
  json["vocab_size"] = vocab_size(file, keys);
  return json;
}

Json gguf_generation_config(const GgufFile& file) {
  Json json;
  json["_from_model_config"] = true;
  add_token_ids(file, json);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (json[key].is_null()) json.erase(key);
  json["output_attentions"] = false;
  json["output_hidden_states"] = false;
  json["transformers_version"] = "5.23.0";
  json["use_cache"] = true;
  return json;
}

}  // namespace slipway

// Settings that follow from others or that stand in one of two places: heads, layers, quantization.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "checkpoint/config.h"
#include "checkpoint/config_value.h"
#include "slipway/error.h"

namespace slipway {
namespace {

using config_value::Where;

constexpr int64_t kMaxHeads = 1 << 20;
constexpr int64_t kMaxWidth = int64_t{1} << 32;

constexpr std::array kLayerTypes = {"full_attention",
                                    "sliding_attention",
                                    "chunked_attention",
                                    "window_attention",
                                    "indexed_attention",
                                    "compressed_sparse_attention",
                                    "heavily_compressed_attention",
                                    "minimax_m3_sparse",
                                    "reference_sliding_attention",
                                    "linear_attention",
                                    "hybrid",
                                    "hybrid_sliding",
                                    "conv",
                                    "moe",
                                    "sparse",
                                    "dense"};

/// Words of older files and what they are called today.
constexpr std::array<std::pair<const char*, const char*>, 4> kOlderLayerTypes = {{
    {"attention", "full_attention"},
    {"mamba", "linear_attention"},
    {"deepseek_sparse_attention", "indexed_attention"},
    {"qwen_sparse_attention", "indexed_attention"},
}};

std::string current_layer_type(const std::string& source, std::string word) {
  for (const auto& [older, current] : kOlderLayerTypes)
    if (word == older) word = current;
  if (std::find(kLayerTypes.begin(), kLayerTypes.end(), word) == kLayerTypes.end())
    throw Error(kUnsupported,
                fmt::format("[{}] layer_types: got the unknown kind {}, need one of {}", source,
                            quote(word), fmt::join(kLayerTypes, ", ")));
  return word;
}

}  // namespace

const Json* Config::find_shared(std::string_view key) const {
  const Json* here = find(key);
  const Json* nested = find("text_config");
  if (nested == nullptr) return here;
  if (!nested->is_object())
    config_value::fail({source_, "text_config"}, *nested, "an object of settings");
  const auto it = nested->find(std::string(key));
  if (it == nested->end() || it->is_null()) return here;
  if (here != nullptr && *here != *it)
    throw Error(kInvalid, fmt::format("[{}] {} is {} but text_config.{} is {}; remove one", source_,
                                      key, describe(*here), key, describe(*it)));
  return &*it;
}

int64_t Config::head_dim() const {
  const auto get = [&](std::string_view key) {
    const Json* value = find_shared(key);
    if (value == nullptr) config_value::fail_missing({source_, key}, "an integer");
    return config_value::integer({source_, key}, *value, 1, kMaxWidth);
  };
  if (find_shared("head_dim") != nullptr) return get("head_dim");
  const int64_t hidden = get("hidden_size"), heads = get("num_attention_heads");
  if (hidden % heads != 0)
    throw Error(
        kInvalid,
        fmt::format("[{}] hidden_size {} is not a multiple of num_attention_heads {}; correct "
                    "them or state head_dim",
                    source_, hidden, heads));
  return hidden / heads;
}

int64_t Config::num_key_value_heads() const {
  const auto get = [&](std::string_view key, const Json& value) {
    return config_value::integer({source_, key}, value, 1, kMaxHeads);
  };
  const Json* value = find_shared("num_attention_heads");
  if (value == nullptr) config_value::fail_missing({source_, "num_attention_heads"}, "an integer");
  const int64_t heads = get("num_attention_heads", *value);
  const Json* stated = find_shared("num_key_value_heads");
  if (stated == nullptr) return heads;
  const int64_t kv_heads = get("num_key_value_heads", *stated);
  if (heads % kv_heads != 0)
    throw Error(kInvalid, fmt::format("[{}] num_attention_heads {} is not a multiple of "
                                      "num_key_value_heads {}; correct one of them",
                                      source_, heads, kv_heads));
  return kv_heads;
}

std::vector<std::string> Config::layer_types(const std::vector<std::string>& derived) const {
  const Json* list = find_shared("layer_types");
  if (list == nullptr) return derived;
  const Where where{source_, "layer_types"};
  if (!list->is_array()) config_value::fail(where, *list, "a list of layer kinds");
  const Json* layers = find_shared("num_hidden_layers");
  if (layers == nullptr) config_value::fail_missing({source_, "num_hidden_layers"}, "an integer");
  const int64_t count =
      config_value::integer({source_, "num_hidden_layers"}, *layers, 0, kMaxHeads);
  if (static_cast<int64_t>(list->size()) != count)
    throw Error(kInvalid,
                fmt::format("[{}] layer_types has {} entries, need num_hidden_layers = {}", source_,
                            list->size(), count));
  std::vector<std::string> out;
  for (const Json& item : *list)
    out.push_back(current_layer_type(source_, config_value::text(where, item)));
  return out;
}

std::string Config::quant_method() const {
  const Json* found = find_shared("quantization_config");
  // Where compressed-tensors stood before it shared the key of the others.
  const bool older = found == nullptr && find_shared("compression_config") != nullptr;
  if (older) found = find_shared("compression_config");
  if (found == nullptr) return "";
  const std::string_view key = older ? "compression_config" : "quantization_config";
  if (!found->is_object()) config_value::fail({source_, key}, *found, "an object of settings");
  const Config section = from_json(*found, fmt::format("{}: {}", source_, key));
  if (section.has("quant_method")) {
    std::string method = section.get_string("quant_method");
    if (method.empty())
      config_value::fail({section.source_, "quant_method"}, section.json_["quant_method"],
                         "the name of a quantization scheme");
    return method;
  }
  if (older) return "compressed-tensors";
  // bitsandbytes wrote no name at first.
  if (section.get_bool_or("load_in_8bit", false) || section.get_bool_or("load_in_4bit", false))
    return "bitsandbytes";
  config_value::fail_missing(
      {section.source_, "quant_method"},
      "the name of the quantization scheme; weights of an unknown scheme are "
      "never read as numbers");
}

}  // namespace slipway

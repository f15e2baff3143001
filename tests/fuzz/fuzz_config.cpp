// libFuzzer target: config.json, every getter.
#include <string>

#include "checkpoint/config.h"
#include "checkpoint/rope_frequencies.h"
#include "slipway/error.h"

namespace {

/// Any input may be refused as bad or unsupported; every other outcome is a finding.
template <class Call>
void allow_refusal(Call call) {
  try {
    call();
  } catch (const slipway::Error& e) {
    if (e.kind() == slipway::kInternal) __builtin_trap();
  }
}

void read_all(const slipway::Config& config) {
  allow_refusal([&] { config.model_type(); });
  allow_refusal([&] { config.architecture(); });
  allow_refusal([&] { config.dtype(); });
  allow_refusal([&] { config.num_key_value_heads(); });
  allow_refusal([&] { config.layer_types({"full_attention"}); });
  allow_refusal([&] { config.quant_method(); });
  for (const char* key : {"hidden_size", "rms_norm_eps", "use_cache", "hidden_act"}) {
    allow_refusal([&] { config.get_int(key); });
    allow_refusal([&] { config.get_double(key); });
    allow_refusal([&] { config.get_bool_or(key, true); });
    allow_refusal([&] { config.get_string(key); });
  }
  for (const char* layer : {"", "full_attention", "sliding_attention"})
    allow_refusal([&] {
      const auto rope = config.rope(layer, std::nullopt);
      for (const int64_t seq_len : {1, 100000})
        slipway::rope_frequencies(rope, config.get_int_or("head_dim", 16, 1, 4096),
                                  config.get_int_or("max_position_embeddings", 64), seq_len);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  allow_refusal([&] {
    const auto config =
        slipway::Config::from_json(slipway::parse_json(text, "config.json"), "config.json");
    read_all(config);
    allow_refusal([&] { config.head_dim(); });
    allow_refusal([&] { read_all(config.text()); });
  });
  return 0;
}

// libFuzzer target: config.json, every getter.
#include "checkpoint/config.h"
#include "checkpoint/rope_frequencies.h"
#include "fuzz.h"

namespace {

using slipway::fuzz::attempt;

void read_all(const slipway::Config& config) {
  attempt([&] { config.model_type(); });
  attempt([&] { config.architecture(); });
  attempt([&] { config.dtype(); });
  attempt([&] { config.num_key_value_heads(); });
  attempt([&] { config.layer_types({"full_attention"}); });
  attempt([&] { config.quant_method(); });
  for (const char* key : {"hidden_size", "rms_norm_eps", "use_cache", "hidden_act"}) {
    attempt([&] { config.get_int(key); });
    attempt([&] { config.get_double(key); });
    attempt([&] { config.get_bool_or(key, true); });
    attempt([&] { config.get_string(key); });
  }
  for (const char* layer : {"", "full_attention", "sliding_attention"})
    attempt([&] {
      const auto rope = config.rope(layer, std::nullopt);
      for (const int64_t seq_len : {1, 100000})
        slipway::rope_frequencies(rope, config.get_int_or("head_dim", 16, 1, 4096),
                                  config.get_int_or("max_position_embeddings", 64), seq_len);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = slipway::fuzz::text(data, size);
  attempt([&] {
    const auto config =
        slipway::Config::from_json(slipway::parse_json(text, "config.json"), "config.json");
    read_all(config);
    attempt([&] { config.head_dim(); });
    attempt([&] { read_all(config.text()); });
  });
  return 0;
}

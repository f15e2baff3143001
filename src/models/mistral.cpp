// Mistral (Jiang et al. 2023): Llama with a sliding window in every layer.
#include "models/common/decoder.h"

namespace slipway::models {
namespace {

DecoderConfig read(const Config& config) {
  DecoderConfig c = DecoderConfig::read(config, 4096 * 32, 10000.0);
  // A stated null means no window; only an absent key means the published 4096.
  const bool absent = !config.json().contains("sliding_window");
  std::optional<int64_t> window;
  if (absent) window = 4096;
  else if (config.has("sliding_window")) window = config.get_int("sliding_window", 1);
  c.windows.assign(c.windows.size(), window);
  return c;
}

}  // namespace

extern const ModelType mistral;
const ModelType mistral = {
    .name = "mistral",
    .base_prefix = "model",
    .ignorable = {"*.rotary_emb.inv_freq"},
    .heads = {{"feature-extraction", "MistralModel",
               "transformers.modeling_outputs.BaseModelOutputWithPast",
               [](ModelBuilder& m) { decoder_base(m, read(m.config())); }},
              {"text-generation", "MistralForCausalLM",
               "transformers.modeling_outputs.CausalLMOutputWithPast",
               [](ModelBuilder& m) { decoder_causal_lm(m, read(m.config())); }}}};

}  // namespace slipway::models

// Llama (Touvron et al. 2023; Llama 2 and 3) and the many models that share its layout.
#include "models/common/decoder.h"

namespace slipway::models {
namespace {

DecoderConfig read(const Config& config) {
  DecoderConfig c = DecoderConfig::read(config, 2048, 10000.0);
  const Bias attention = config.get_bool_or("attention_bias", false) ? Bias::kYes : Bias::kNo;
  c.qkv_bias = c.out_bias = attention;
  c.mlp_bias = config.get_bool_or("mlp_bias", false) ? Bias::kYes : Bias::kNo;
  return c;
}

}  // namespace

extern const ModelType llama;
const ModelType llama = {
    .name = "llama",
    .base_prefix = "model",
    .ignorable = {"*.rotary_emb.inv_freq"},
    .heads = {{"feature-extraction", "LlamaModel",
               "transformers.modeling_outputs.BaseModelOutputWithPast",
               [](ModelBuilder& m) { decoder_base(m, read(m.config())); }},
              {"text-generation", "LlamaForCausalLM",
               "transformers.modeling_outputs.CausalLMOutputWithPast",
               [](ModelBuilder& m) { decoder_causal_lm(m, read(m.config())); }}}};

}  // namespace slipway::models

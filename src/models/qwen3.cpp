// Qwen3 (Yang et al. 2025): Qwen2 with normed query and key heads in place of the biases.
#include "models/common/qwen.h"

namespace slipway::models {
namespace {

DecoderConfig read(const Config& config) {
  DecoderConfig c = read_qwen(config);
  c.qk_norm = true;
  c.qkv_bias = c.out_bias = config.get_bool_or("attention_bias", false) ? Bias::kYes : Bias::kNo;
  return c;
}

}  // namespace

extern const ModelType qwen3;
const ModelType qwen3 = {
    .name = "qwen3",
    .base_prefix = "model",
    .ignorable = {"*.rotary_emb.inv_freq"},
    .heads = {{"feature-extraction", "Qwen3Model",
               "transformers.modeling_outputs.BaseModelOutputWithPast",
               [](ModelBuilder& m) { decoder_base(m, read(m.config())); }},
              {"text-generation", "Qwen3ForCausalLM",
               "transformers.modeling_outputs.CausalLMOutputWithPast",
               [](ModelBuilder& m) { decoder_causal_lm(m, read(m.config())); }}}};

}  // namespace slipway::models

// Qwen2 (Yang et al. 2024): Llama with biases on query, key and value, windows in the upper layers.
#include "models/common/qwen.h"

namespace slipway::models {
namespace {

DecoderConfig read(const Config& config) {
  DecoderConfig c = read_qwen(config);
  c.qkv_bias = Bias::kYes;
  return c;
}

}  // namespace

extern const ModelType qwen2;
const ModelType qwen2 = {
    .name = "qwen2",
    .base_prefix = "model",
    .ignorable = {"*.rotary_emb.inv_freq"},
    .heads = {{"feature-extraction", "Qwen2Model",
               "transformers.modeling_outputs.BaseModelOutputWithPast",
               [](ModelBuilder& m) { decoder_base(m, read(m.config())); }},
              {"text-generation", "Qwen2ForCausalLM",
               "transformers.modeling_outputs.CausalLMOutputWithPast",
               [](ModelBuilder& m) { decoder_causal_lm(m, read(m.config())); }}}};

}  // namespace slipway::models

// The pre-norm decoder of the Llama family.
#include "models/common/decoder.h"

#include <cmath>
#include <map>

namespace slipway::models {
namespace {

Value mlp(const Scope& s, const DecoderConfig& c, Value x) {
  const Value gate =
      linear(s / "gate_proj", x, c.intermediate_size, c.mlp_bias, "intermediate_size");
  const Value up = linear(s / "up_proj", x, c.intermediate_size, c.mlp_bias, "intermediate_size");
  const auto in = s.enter();
  return linear(s / "down_proj", activation(c.hidden_act, gate) * up, c.hidden_size, c.mlp_bias,
                "hidden_size x intermediate_size");
}

Value self_attention(const Scope& s, const DecoderConfig& c, Value x, const Rotary& rope,
                     Value mask, KvCache& cache, int64_t layer) {
  const auto in = s.enter();
  const auto heads = [&](std::string_view name, int64_t count, std::string_view why) {
    const Value y = linear(s / name, x, count * c.head_dim, c.qkv_bias, why);
    return view(y, {x.dim(0), x.dim(1), count, c.head_dim});
  };
  Value q = heads("q_proj", c.num_attention_heads, "num_attention_heads * head_dim");
  Value k = heads("k_proj", c.num_key_value_heads, "num_key_value_heads * head_dim");
  const Value v = heads("v_proj", c.num_key_value_heads, "num_key_value_heads * head_dim");
  if (c.qk_norm) {
    q = rms_norm(s / "q_norm", q, c.rms_norm_eps);
    k = rms_norm(s / "k_norm", k, c.rms_norm_eps);
  }
  q = rotary_embedding(transpose(q, 1, 2), rope.cos, rope.sin);
  k = rotary_embedding(transpose(k, 1, 2), rope.cos, rope.sin);
  const auto [keys, values] = cache.update(layer, k, transpose(v, 1, 2));
  const double scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim));
  const Value attended = merge_heads(attention(q, keys, values, mask, scale));
  return linear(s / "o_proj", attended, c.hidden_size, c.out_bias,
                "hidden_size x num_attention_heads * head_dim");
}

/// The inputs of the base model, in the order of the reference's forward.
struct Inputs {
  Value ids, positions;
  std::map<std::optional<int64_t>, Value> masks;  ///< by sliding window
  Sym batch, length, cached;
};

/// The mask of each kind of layer, made from the padding mask [batch, past + length].
void declare_padding_mask(ModelBuilder& m, const DecoderConfig& c, Inputs& in) {
  const Value padding = m.input("attention_mask", DType::kI64, {in.batch, in.cached + in.length});
  for (const std::optional<int64_t> window : c.windows)
    if (!in.masks.contains(window)) in.masks[window] = causal_mask(padding, in.length, window);
}

/// The mask of each kind of layer as callers of a static cache make it.
void declare_static_masks(ModelBuilder& m, const DecoderConfig& c, Inputs& in) {
  for (const std::optional<int64_t> window : c.windows) {
    if (in.masks.contains(window)) continue;
    std::string name = "attention_mask";
    if (c.masks_by_layer_type) name += window ? ".sliding_attention" : ".full_attention";
    in.masks[window] = m.mask_input(name, {in.batch, 1, in.length, in.cached}, window);
  }
}

Inputs declare_inputs(ModelBuilder& m, const DecoderConfig& c) {
  Inputs in;
  in.batch = m.dim("batch_size", 1);
  in.length = m.dim("sequence_length", 1);
  const CacheKind cache = m.options().cache;
  const bool cached = cache != CacheKind::kNone;
  in.cached = 0;
  if (cache == CacheKind::kGrowing) in.cached = m.dim("past_sequence_length", 0);
  if (is_static(cache)) in.cached = m.dim("cache_length", 1);
  in.ids = m.ids("input_ids", {in.batch, in.length}, c.vocab_size);
  if (is_static(cache)) declare_static_masks(m, c, in);
  else declare_padding_mask(m, c, in);
  // Without a cache positions count from 0, unless the caller asked for the input.
  const bool given = cached || (m.options().inputs && m.wants("position_ids"));
  in.positions = given ? m.input("position_ids", DType::kI64, {in.batch, in.length})
                       : unsqueeze(arange(m.graph(), 0, in.length), 0);
  return in;
}

}  // namespace

DecoderConfig DecoderConfig::read(const Config& config, int64_t default_max_positions,
                                  double default_theta) {
  DecoderConfig c{};
  c.vocab_size = config.get_int("vocab_size", 1);
  c.hidden_size = config.get_int("hidden_size", 1);
  c.intermediate_size = config.get_int("intermediate_size", 1);
  c.num_hidden_layers = config.get_int("num_hidden_layers", 1, 100000);
  c.num_attention_heads = config.get_int("num_attention_heads", 1);
  c.num_key_value_heads = config.num_key_value_heads();
  c.head_dim = config.head_dim();
  c.max_position_embeddings =
      config.get_int_or("max_position_embeddings", default_max_positions, 1);
  c.rms_norm_eps = read_epsilon(config, "rms_norm_eps", 1e-6);
  c.hidden_act = config.get_string_or("hidden_act", "silu");
  c.tie_word_embeddings = config.get_bool_or("tie_word_embeddings", false);
  c.rope = config.rope("", default_theta);
  if (c.rope.partial_rotary_factor != 1.0)
    throw Error(kUnsupported, "[models] partial_rotary_factor of " + config.source() +
                                  " is not 1, but '" + config.model_type() +
                                  "' rotates whole heads; remove the key if it is a leftover");
  c.windows.assign(static_cast<size_t>(c.num_hidden_layers), std::nullopt);
  return c;
}

std::vector<std::optional<int64_t>> windows_of(const std::vector<std::string>& layer_types,
                                               std::optional<int64_t> sliding_window) {
  std::vector<std::optional<int64_t>> windows;
  for (const std::string& type : layer_types) {
    if (type == "sliding_attention" && !sliding_window)
      throw Error(kInvalid,
                  "[models] layer_types names sliding_attention but sliding_window is not set");
    if (type != "sliding_attention" && type != "full_attention")
      throw Error(kUnsupported, "[models] layer type '" + type +
                                    "' is not one of full_attention, sliding_attention");
    windows.push_back(type == "sliding_attention" ? sliding_window : std::nullopt);
  }
  return windows;
}

DecoderResult decoder(ModelBuilder& m, const Scope& s, const DecoderConfig& c) {
  const auto in = s.enter();
  const Inputs inputs = declare_inputs(m, c);
  KvCache cache(
      m, {c.num_hidden_layers, inputs.batch, inputs.cached, c.num_key_value_heads, c.head_dim});
  const Rotary rope = rotary(m, inputs.positions, c.rope, c.head_dim, c.max_position_embeddings);
  Value x = embedding(s / "embed_tokens", inputs.ids, c.vocab_size, c.hidden_size,
                      "vocab_size x hidden_size");
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) {
    const Scope layer = s / "layers" / i;
    const Value mask = inputs.masks.at(c.windows[static_cast<size_t>(i)]);
    const auto layer_in = layer.enter();
    x = x + self_attention(layer / "self_attn", c,
                           rms_norm(layer / "input_layernorm", x, c.rms_norm_eps), rope, mask,
                           cache, i);
    x = x + mlp(layer / "mlp", c, rms_norm(layer / "post_attention_layernorm", x, c.rms_norm_eps));
  }
  return {rms_norm(s / "norm", x, c.rms_norm_eps), std::move(cache)};
}

void decoder_base(ModelBuilder& m, const DecoderConfig& c) {
  const DecoderResult result = decoder(m, m.scope("model"), c);
  m.output("last_hidden_state", result.last_hidden_state);
  result.cache.write_outputs(m);
}

void decoder_causal_lm(ModelBuilder& m, const DecoderConfig& c) {
  if (c.tie_word_embeddings) m.binder().tie("lm_head.weight", "model.embed_tokens.weight");
  const DecoderResult result = decoder(m, m.scope("model"), c);
  Value x = result.last_hidden_state;
  if (m.options().logits_to_keep) {
    Tensor all(DType::kI64, {});
    all.mutable_values<int64_t>()[0] = 0;
    x = keep_last(x, m.defaulted_input("logits_to_keep", std::move(all)),
                  m.dim("logits_length", 1));
  }
  m.output("logits",
           linear(m.scope("lm_head"), x, c.vocab_size, Bias::kNo, "vocab_size x hidden_size"));
  result.cache.write_outputs(m);
}

}  // namespace slipway::models

// The pre-norm decoder of the Llama family: settings, attention, and the walk over the layers.
#pragma once

#include "models/common/cache.h"
#include "models/common/layers.h"
#include "models/common/rope.h"

namespace slipway::models {

/// A decoder's settings under config.json's own names.
struct DecoderConfig {
  int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers;
  int64_t num_attention_heads, num_key_value_heads, head_dim, max_position_embeddings;
  double rms_norm_eps;
  std::string hidden_act;
  bool tie_word_embeddings;
  RopeParameters rope;
  /// The sliding window of each layer; nullopt attends to everything.
  std::vector<std::optional<int64_t>> windows;

  // What the members of the family set differently.
  Bias qkv_bias = Bias::kNo, out_bias = Bias::kNo, mlp_bias = Bias::kNo;
  bool qk_norm = false;  ///< RMS norm of each query and key head before the rotation
  /// Whether masks made by the caller come by layer type (attention_mask.full_attention, ...).
  bool masks_by_layer_type = false;

  /// Reads what all members share; every layer attends to everything.
  static DecoderConfig read(const Config& config, int64_t default_max_positions,
                            double default_theta);
};

/// The window of every layer from the words of layer_types ("full_attention", "sliding_attention").
std::vector<std::optional<int64_t>> windows_of(const std::vector<std::string>& layer_types,
                                               std::optional<int64_t> sliding_window);

/// The last hidden state of a base model, and its cache, whose outputs the caller adds after the
/// model's own.
struct DecoderResult {
  Value last_hidden_state;
  KvCache cache;
};
/// Emits the base model at `s` on fresh inputs.
DecoderResult decoder(ModelBuilder& m, const Scope& s, const DecoderConfig& c);

/// The two tasks of such a decoder: outputs last_hidden_state, or logits through lm_head.
void decoder_base(ModelBuilder& m, const DecoderConfig& c);
void decoder_causal_lm(ModelBuilder& m, const DecoderConfig& c);

}  // namespace slipway::models

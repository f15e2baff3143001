// What Qwen2 and Qwen3 share beyond Llama: windows that start at a layer.
#pragma once

#include "models/common/decoder.h"

namespace slipway::models {

/// The decoder's settings with windows from layer_types, or from use_sliding_window, sliding_window
/// and max_window_layers where layer_types is absent.
inline DecoderConfig read_qwen(const Config& config) {
  DecoderConfig c = DecoderConfig::read(config, 32768, 10000.0);
  std::optional<int64_t> window;
  if (config.get_bool_or("use_sliding_window", false))
    window = config.has("sliding_window") ? config.get_int("sliding_window", 1) : 4096;
  const int64_t first = config.get_int_or("max_window_layers", 28);
  std::vector<std::string> derived;
  for (int64_t i = 0; i < c.num_hidden_layers; ++i)
    derived.emplace_back(window && i >= first ? "sliding_attention" : "full_attention");
  c.windows = windows_of(config.layer_types(derived), window);
  c.masks_by_layer_type = true;
  return c;
}

}  // namespace slipway::models

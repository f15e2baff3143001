// GGUF architectures and their tensor names in the words of Hugging Face checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/gguf.h"

namespace slipway {

/// What is known about one `general.architecture`.
struct GgufArchitecture {
  std::string_view name;            ///< as in the file; also the prefix of its metadata keys
  std::string_view model_type;      ///< of config.json
  std::string_view class_name;      ///< the causal language model
  bool paired_rotary_rows = false;  ///< q and k rows are stored in pairs (i, i + head_dim / 2)
  bool query_key_norms = false;
};

/// The row of the file's architecture. Throws Error{kUnsupported} naming it and the supported ones.
const GgufArchitecture& gguf_architecture(const GgufFile& file);

/// "blk.3.attn_q.bias" -> "model.layers.3.self_attn.q_proj.bias"; nullopt for a name that has no
/// place in a model of `layers` layers.
std::optional<std::string> gguf_tensor_name(const GgufArchitecture& architecture,
                                            std::string_view name, int64_t layers);

/// Tensors that hold no weights: tables of rotary factors, which the configuration states.
bool gguf_is_rotary_table(std::string_view name);

/// The number of decoder layers, `<architecture>.block_count`.
int64_t gguf_layers(const GgufFile& file);

/// "llama.rope.freq_base" for "rope.freq_base".
std::string gguf_key(const GgufFile& file, std::string_view key);

}  // namespace slipway

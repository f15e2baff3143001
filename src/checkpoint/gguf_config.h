// config.json and generation_config.json rebuilt from GGUF metadata.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "checkpoint/gguf.h"

namespace slipway {

/// The configuration as transformers reads it from the same file, its defaults included, and two
/// things it leaves out: biases that the file has and the scaling of rotary positions (linear,
/// yarn, and llama3 from the table rope_freqs.weight). Throws Error{kInvalid} for a missing or
/// impossible value, Error{kUnsupported} for an architecture or a setting that is not known here.
Json gguf_config(const GgufFile& file);

/// The special token ids as generation settings.
Json gguf_generation_config(const GgufFile& file);

/// `rope_parameters` alone.
Json gguf_rope_parameters(const GgufFile& file, int64_t head_dim);

/// The id under tokenizer.ggml.<name>_token_id, or nullopt where it is absent or stands for none.
std::optional<int64_t> gguf_token_id(const GgufFile& file, std::string_view name);

}  // namespace slipway

// GGUF architectures and their tensor names.
#include "checkpoint/gguf_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/json.h"

namespace slipway {
namespace {

constexpr std::array<GgufArchitecture, 3> kArchitectures = {{
    {.name = "llama",
     .model_type = "llama",
     .class_name = "LlamaForCausalLM",
     .paired_rotary_rows = true},
    {.name = "qwen2", .model_type = "qwen2", .class_name = "Qwen2ForCausalLM"},
    {.name = "qwen3",
     .model_type = "qwen3",
     .class_name = "Qwen3ForCausalLM",
     .query_key_norms = true},
}};

struct NameRow {
  std::string_view gguf, hugging_face;
};

constexpr std::array<NameRow, 3> kOuter = {{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};

constexpr std::array<NameRow, 9> kLayer = {{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

constexpr std::array<NameRow, 2> kQueryKeyNorms = {{
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
}};

template <size_t N>
std::string_view look_up(const std::array<NameRow, N>& rows, std::string_view name) {
  for (const NameRow& row : rows)
    if (row.gguf == name) return row.hugging_face;
  return {};
}

/// A layer number in its only spelling: decimal, no leading zeros.
std::optional<int64_t> layer_number(std::string_view text, int64_t layers) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number >= layers || std::to_string(number) != text) return std::nullopt;
  return number;
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const std::string_view name = file.architecture();
  std::string known;
  for (const GgufArchitecture& row : kArchitectures) {
    if (row.name == name) return row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  throw Error(kUnsupported, fmt::format("[gguf] {}: the architecture {} is not supported; "
                                        "supported: {}",
                                        file.where(), quote(name), known));
}

std::optional<std::string> gguf_tensor_name(const GgufArchitecture& architecture,
                                            std::string_view name, int64_t layers) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view suffix = name.substr(dot);
  if (suffix != ".weight" && suffix != ".bias") return std::nullopt;
  std::string_view stem = name.substr(0, dot);
  if (stem.substr(0, 4) != "blk.") {
    const std::string_view outer = look_up(kOuter, stem);
    if (outer.empty()) return std::nullopt;
    return fmt::format("{}{}", outer, suffix);
  }
  stem.remove_prefix(4);
  const size_t after = stem.find('.');
  if (after == std::string_view::npos) return std::nullopt;
  const auto layer = layer_number(stem.substr(0, after), layers);
  const std::string_view leaf = stem.substr(after + 1);
  std::string_view found = look_up(kLayer, leaf);
  if (found.empty() && architecture.query_key_norms) found = look_up(kQueryKeyNorms, leaf);
  if (!layer || found.empty()) return std::nullopt;
  return fmt::format("model.layers.{}.{}{}", *layer, found, suffix);
}

bool gguf_is_rotary_table(std::string_view name) { return name == "rope_freqs.weight"; }

int64_t gguf_layers(const GgufFile& file) {
  return file.metadata().get_int(gguf_key(file, "block_count"), 1, 1 << 16);
}

std::string gguf_key(const GgufFile& file, std::string_view key) {
  return fmt::format("{}.{}", file.architecture(), key);
}

}  // namespace slipway

// The ways in which byte-level vocabularies split text before merging.
#include <fmt/format.h>

#include <array>

#include "checkpoint/gguf_tokenizer.h"

namespace slipway {
namespace {

// The expressions belong to the published tokenizers; merges were learned on their pieces.
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Empty: the expression that is part of the ByteLevel step itself.
constexpr std::string_view kGpt2 = "";

struct Row {
  std::string_view pre, pattern;
};

// smollm is split like gpt-2, as transformers does with the same file.
constexpr std::array<Row, 16> kRows = {{
    {"default", kGpt2},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"smollm", kGpt2},
    {"llama3", kLlama3},
    {"llama-v3", kLlama3},
    {"llama-bpe", kLlama3},
    {"falcon3", kLlama3},
    {"pixtral", kLlama3},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"tekken", kTekken},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"megrez", kQwen2},
}};

}  // namespace

Json gguf_pre_tokenizer(std::string_view pre, std::string_view where) {
  std::string known;
  for (const Row& row : kRows) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.pre);
    if (row.pre != pre) continue;
    const Json bytes = {{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", row.pattern.empty()}};
    if (row.pattern.empty()) return bytes;
    const Json split = {{"type", "Split"},
                        {"pattern", {{"Regex", std::string(row.pattern)}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, bytes})}};
  }
  throw Error(kUnsupported, fmt::format("[gguf] {}: tokenizer.ggml.pre: got {}, supported: {}",
                                        where, quote(pre), known));
}

}  // namespace slipway

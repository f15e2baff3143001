// Programs for ExecuTorch's LLM runner: what their metadata methods say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// What the runner asks such a program, whoever wrote it. Tokens are its first input, int64
/// [1, tokens], and the slots that they go to the second, int64 [tokens], or [1] for the slot of
/// the first token; without the second it keeps no cache. Logits are the first output.
struct LlmProgram {
  std::optional<int64_t> slots;        ///< the most tokens of a text
  std::optional<int64_t> most_tokens;  ///< of one call
  std::optional<int64_t> vocabulary;
  std::vector<int64_t> ends;
};

/// Nothing where none of the methods get_max_seq_len, get_max_context_len and use_kv_cache is
/// among the metadata of a graph. Throws Error{kInvalid} naming the method for answers that are no
/// positive numbers.
std::optional<LlmProgram> read_llm_program(const std::map<std::string, std::string>& metadata,
                                           std::string_view where);

}  // namespace slipway

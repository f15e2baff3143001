// Programs for ExecuTorch's LLM runner: what their metadata methods say.
#include "generation/llm_program.h"

#include <fmt/format.h>

#include <charconv>

#include "slipway/error.h"

namespace slipway {
namespace {

/// Answers of a method: numbers with commas between them.
class Answers {
 public:
  Answers(const std::map<std::string, std::string>& metadata, std::string_view where)
      : metadata_(metadata), where_(where) {}

  bool has(const char* method) const { return metadata_.contains(method); }

  std::vector<int64_t> list(const char* method, int64_t min) const {
    std::vector<int64_t> numbers;
    const auto at = metadata_.find(method);
    if (at == metadata_.end()) return numbers;
    std::string_view text = at->second;
    while (!text.empty()) {
      const size_t comma = text.find(", ");
      const std::string_view item = text.substr(0, comma);
      int64_t number = 0;
      const auto parsed = std::from_chars(item.data(), item.data() + item.size(), number);
      if (parsed.ec != std::errc() || parsed.ptr != item.data() + item.size() || number < min)
        throw Error(kInvalid, fmt::format("[{}] the method {} answers {}, need numbers from {}",
                                          where_, method, at->second, min));
      numbers.push_back(number);
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 2);
    }
    return numbers;
  }

  std::optional<int64_t> one(const char* method) const {
    const std::vector<int64_t> numbers = list(method, 1);
    return numbers.empty() ? std::nullopt : std::optional(numbers[0]);
  }

 private:
  const std::map<std::string, std::string>& metadata_;
  std::string_view where_;
};

}  // namespace

std::optional<LlmProgram> read_llm_program(const std::map<std::string, std::string>& metadata,
                                           std::string_view where) {
  const Answers answers(metadata, where);
  if (!answers.has("get_max_seq_len") && !answers.has("get_max_context_len") &&
      !answers.has("use_kv_cache"))
    return std::nullopt;
  LlmProgram program;
  program.most_tokens = answers.one("get_max_seq_len");
  program.slots = answers.one("get_max_context_len");
  if (!program.slots) program.slots = program.most_tokens;
  program.vocabulary = answers.one("get_vocab_size");
  program.ends = answers.list("get_eos_ids", 0);
  if (program.ends.empty()) program.ends = answers.list("get_eos_id", 0);
  return program;
}

}  // namespace slipway

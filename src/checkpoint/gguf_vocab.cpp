// The vocabulary of a GGUF file, checked, with its merges.
#include "checkpoint/gguf_vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "checkpoint/gguf_config.h"

namespace slipway {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 21;
constexpr size_t kMaxMerges = size_t{1} << 22;
/// Cutting a token everywhere takes time quadratic in its length; sentencepiece stops at 64 bytes.
constexpr size_t kMaxCutToken = 512;

[[noreturn]] void refuse(const GgufFile& file, const std::string& problem) {
  throw Error(kInvalid, fmt::format("[gguf] {}: {}", file.where(), problem));
}

void check_count(const GgufFile& file, std::string_view key, size_t got, size_t limit) {
  if (got > limit)
    throw Error(kUnsupported, fmt::format("[gguf] {}: {}: got {} entries, need at most {}",
                                          file.where(), key, got, limit));
}

std::optional<int64_t> special(const GgufFile& file, const GgufVocab& vocab,
                               std::string_view name) {
  const auto id = gguf_token_id(file, name);
  if (id && static_cast<size_t>(*id) >= vocab.tokens.size())
    refuse(file, fmt::format("tokenizer.ggml.{}_token_id: got {}, need a token of the {} there are",
                             name, *id, vocab.tokens.size()));
  return id;
}

void read_kinds(const GgufFile& file, GgufVocab& vocab) {
  vocab.kinds.assign(vocab.tokens.size(), GgufTokenKind::kNormal);
  const auto kinds = file.metadata().find_ints("tokenizer.ggml.token_type");
  if (!kinds) return;
  if (kinds->size() != vocab.tokens.size())
    refuse(file, fmt::format("tokenizer.ggml.token_type: got {} entries for {} tokens",
                             kinds->size(), vocab.tokens.size()));
  for (size_t i = 0; i < kinds->size(); ++i) {
    // 0 means that nothing is known.
    if ((*kinds)[i] < 0 || (*kinds)[i] > 6)
      refuse(file, fmt::format("tokenizer.ggml.token_type: got {} for token {}, need 0 to 6",
                               (*kinds)[i], i));
    if ((*kinds)[i] != 0) vocab.kinds[i] = static_cast<GgufTokenKind>((*kinds)[i]);
  }
}

/// The byte positions inside `text` at which a character begins, the first left out.
std::vector<size_t> cuts(std::string_view text) {
  std::vector<size_t> out;
  for (size_t i = 1; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) out.push_back(i);
  return out;
}

}  // namespace

bool GgufVocab::is_special(size_t id) const {
  if (kinds[id] == GgufTokenKind::kControl) return true;
  for (const auto& one : {bos, eos, unknown, padding})
    if (one && static_cast<size_t>(*one) == id) return true;
  return false;
}

bool GgufVocab::is_added(size_t id) const {
  return kinds[id] == GgufTokenKind::kUserDefined || is_special(id);
}

GgufVocab gguf_vocab(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  GgufVocab vocab;
  vocab.model = metadata.get_string("tokenizer.ggml.model");
  const GgufValue* raw = metadata.find("tokenizer.ggml.tokens");
  if (raw != nullptr) check_count(file, "tokenizer.ggml.tokens", raw->count, kMaxTokens);
  auto tokens = metadata.find_strings("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty()) refuse(file, "tokenizer.ggml.tokens: got no tokens, need a list");
  vocab.tokens = std::move(*tokens);
  read_kinds(file, vocab);
  vocab.bos = special(file, vocab, "bos");
  vocab.eos = special(file, vocab, "eos");
  vocab.unknown = special(file, vocab, "unknown");
  vocab.padding = special(file, vocab, "padding");

  const auto add_bos = metadata.find_bool("tokenizer.ggml.add_bos_token");
  const auto add_eos = metadata.find_bool("tokenizer.ggml.add_eos_token");
  if (add_bos.value_or(false) && !vocab.bos)
    refuse(file, "tokenizer.ggml.add_bos_token is true without a tokenizer.ggml.bos_token_id");
  if (add_eos.value_or(false) && !vocab.eos)
    refuse(file, "tokenizer.ggml.add_eos_token is true without a tokenizer.ggml.eos_token_id");
  // A sentencepiece vocabulary that does not say otherwise begins every text.
  vocab.add_bos = add_bos.value_or(vocab.model == "llama" && vocab.bos.has_value());
  vocab.add_eos = add_eos.value_or(false);
  return vocab;
}

std::optional<GgufMerges> gguf_stored_merges(const GgufFile& file) {
  const GgufValue* raw = file.metadata().find("tokenizer.ggml.merges");
  if (raw == nullptr) return std::nullopt;
  check_count(file, "tokenizer.ggml.merges", raw->count, kMaxMerges);
  const auto lines = *file.metadata().find_strings("tokenizer.ggml.merges");
  GgufMerges out;
  out.reserve(lines.size());
  for (const std::string_view line : lines) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      refuse(file, fmt::format("tokenizer.ggml.merges: got {} as entry {}, need two parts with a "
                               "space between them",
                               quote(line), out.size()));
    out.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return out;
}

GgufMerges gguf_implied_merges(const GgufFile& file, const GgufVocab& vocab) {
  const auto scores = file.metadata().find_doubles("tokenizer.ggml.scores");
  if (!scores || scores->size() != vocab.tokens.size())
    refuse(file, fmt::format("the tokenizer has neither merges nor a score for each of its {} "
                             "tokens",
                             vocab.tokens.size()));
  // Of equal tokens the last one counts, in the place of the first.
  std::unordered_map<std::string_view, size_t> ids;
  std::vector<std::string_view> order;
  for (size_t i = 0; i < vocab.tokens.size(); ++i) {
    if (!ids.contains(vocab.tokens[i])) order.push_back(vocab.tokens[i]);
    ids[vocab.tokens[i]] = i;
  }

  struct Merge {
    std::string_view left, right;
    size_t left_id, right_id, left_chars, right_chars;
    double score;
  };
  std::vector<Merge> merges;
  for (const std::string_view token : order) {
    if (token.size() > kMaxCutToken)
      refuse(file, fmt::format("got a token of {} bytes in a sentencepiece vocabulary, need at "
                               "most {}",
                               token.size(), kMaxCutToken));
    const double score = (*scores)[ids[token]];
    const std::vector<size_t> at = cuts(token);
    const size_t first = merges.size();
    for (size_t i = 0; i < at.size(); ++i) {
      const auto left = ids.find(token.substr(0, at[i]));
      if (left == ids.end()) continue;
      const auto right = ids.find(token.substr(at[i]));
      if (right == ids.end()) continue;
      merges.push_back(
          {left->first, right->first, left->second, right->second, i + 1, at.size() - i, score});
    }
    std::stable_sort(merges.begin() + static_cast<int64_t>(first), merges.end(),
                     [](const Merge& a, const Merge& b) {
                       return std::pair(a.left_id, a.right_id) < std::pair(b.left_id, b.right_id);
                     });
    check_count(file, "the merges of tokenizer.ggml.tokens", merges.size(), kMaxMerges);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.left_chars, a.right_chars) > std::pair(b.left_chars, b.right_chars);
  });
  GgufMerges out;
  out.reserve(merges.size());
  for (const Merge& merge : merges) out.emplace_back(merge.left, merge.right);
  return out;
}

}  // namespace slipway

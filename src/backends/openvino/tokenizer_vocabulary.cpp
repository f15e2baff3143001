// The tokens of a tokenizer by their ids.
#include "backends/openvino/tokenizer_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/tokenizer_regex.h"
#include "slipway/error.h"

namespace slipway::openvino {
namespace {

/// No model has embeddings for more.
constexpr int64_t kMostTokens = int64_t{1} << 24;

int64_t checked_id(const Part& id) {
  const int64_t value = id.integer();
  if (value >= kMostTokens) id.invalid("a token id below 2^24");
  return value;
}

void put(std::vector<std::string>& tokens, int64_t id, const std::string& token) {
  if (static_cast<size_t>(id) >= tokens.size()) tokens.resize(static_cast<size_t>(id) + 1);
  tokens[static_cast<size_t>(id)] = token;
}

/// The characters that stand for bytes: printable Latin-1 for itself, others from U+0100 on.
const std::unordered_map<std::string, char>& byte_alphabet() {
  static const std::unordered_map<std::string, char> kAlphabet = [] {
    std::unordered_map<std::string, char> alphabet;
    int next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte != 173);
      const int code = printable ? byte : next++;
      const std::string character = code < 128 ? std::string(1, static_cast<char>(code))
                                               : std::string{static_cast<char>(0xC0 | (code >> 6)),
                                                             static_cast<char>(0x80 | (code & 63))};
      alphabet[character] = static_cast<char>(byte);
    }
    return alphabet;
  }();
  return kAlphabet;
}

}  // namespace

Vocabulary Vocabulary::from(const Part& model) {
  Vocabulary out;
  const Part vocab = model["vocab"];
  if (vocab.json().is_array()) {  // Unigram: [text, score] by id
    for (const Part& row : vocab.list()) {
      const std::vector<Part> pair = row.list();
      if (pair.size() != 2) row.invalid("a text and a score");
      out.ids[pair[0].text()] = static_cast<int64_t>(out.tokens.size());
      out.tokens.push_back(pair[0].text());
      out.scores.push_back(static_cast<float>(pair[1].number()));
    }
    return out;
  }
  for (const auto& [token, id] : vocab.object().items()) {
    const int64_t at = checked_id(Part(id, fmt::format("model.vocab[{}]", quote(token))));
    out.ids[token] = at;
    put(out.tokens, at, token);
  }
  return out;
}

std::vector<AddedToken> added_tokens(const Part& tokenizer, const Json& config_rows,
                                     const Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  const auto find = [&](const std::string& content) {
    return std::find_if(tokens.begin(), tokens.end(),
                        [&](const AddedToken& token) { return token.content == content; });
  };
  if (!tokenizer["added_tokens"].is_null())
    for (const Part& row : tokenizer["added_tokens"].list())
      tokens.push_back({checked_id(row["id"]), row["content"].text(),
                        row["single_word"].flag(false), row["lstrip"].flag(false),
                        row["rstrip"].flag(false), row["normalized"].flag(true),
                        row["special"].flag(false)});
  for (const Part& row : Part(config_rows, "the tokens of tokenizer_config.json").list()) {
    const std::string content = row["content"].text();
    auto at = find(content);
    if (at == tokens.end()) {
      AddedToken made{.content = content};
      made.special = row["special"].flag(false);
      made.normalized = !made.special;
      const auto known = vocabulary.ids.find(content);
      made.id = static_cast<int64_t>(vocabulary.tokens.size());
      for (const AddedToken& token : tokens) made.id = std::max(made.id, token.id + 1);
      if (known != vocabulary.ids.end()) made.id = known->second;
      tokens.push_back(made);
      at = tokens.end() - 1;
    }
    at->single_word = row["single_word"].flag(at->single_word);
    at->lstrip = row["lstrip"].flag(at->lstrip);
    at->rstrip = row["rstrip"].flag(at->rstrip);
    at->normalized = row["normalized"].flag(at->normalized);
    at->special = row["special"].flag(at->special);
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  for (const std::string& character : characters_of(token)) {
    const auto at = byte_alphabet().find(character);
    if (at == byte_alphabet().end()) return std::nullopt;
    bytes += at->second;
  }
  return bytes;
}

std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'A' && c <= 'F';
    if (!digit && !letter) return std::nullopt;
    value = value * 16 + (digit ? c - '0' : c - 'A' + 10);
  }
  return static_cast<char>(value);
}

}  // namespace slipway::openvino

// Merges of byte-pair encoding.
#include "backends/openvino/tokenizer_bpe.h"

#include <fmt/format.h>

#include <unordered_set>

#include "backends/openvino/tokenizer_regex.h"

namespace slipway::openvino {
namespace {

uint64_t key_of(int64_t left, int64_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
}

using Pair = std::pair<std::string, std::string>;

/// A merge is a pair or a text with one space.
Pair pair_of(const Part& merge) {
  if (!merge.is_text()) {
    const std::vector<Part> parts = merge.list();
    if (parts.size() != 2) merge.invalid("two tokens");
    return {parts[0].text(), parts[1].text()};
  }
  const std::string text = merge.text();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    merge.invalid("two tokens with one space between them");
  return {text.substr(0, space), text.substr(space + 1)};
}

std::vector<std::string> symbols_of(const std::string& text, Alphabet alphabet) {
  if (alphabet == Alphabet::kCharacters) return characters_of(text);
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  return bytes;
}

/// The tokens that some text gives: characters, and what merges make of them.
std::unordered_set<std::string> reachable(const std::vector<std::string>& tokens,
                                          const std::vector<Pair>& merges, Alphabet alphabet) {
  std::unordered_set<std::string> known;
  for (const std::string& token : tokens)
    if (!token.empty() && symbols_of(token, alphabet).size() == 1) known.insert(token);
  for (bool grew = true; grew;) {  // merges come in the order of their making but for oddities
    grew = false;
    for (const auto& [left, right] : merges)
      if (known.contains(left) && known.contains(right))
        grew = known.insert(left + right).second || grew;
  }
  return known;
}

}  // namespace

BytePairs BytePairs::from(const Part& model, const Vocabulary& vocabulary, Alphabet alphabet) {
  const auto written = [&](const std::string& token) {
    return alphabet == Alphabet::kBytes ? bytes_of_token(token).value_or("") : token;
  };
  BytePairs out;
  out.tokens.reserve(vocabulary.tokens.size());
  for (const std::string& token : vocabulary.tokens) out.tokens.push_back(written(token));
  std::vector<Pair> merges;
  for (const Part& row : model["merges"].list()) {
    const auto [left, right] = pair_of(row);
    for (const std::string& token : {left, right, left + right})
      if (!vocabulary.ids.contains(token))
        row.invalid(fmt::format("tokens of the vocabulary, which {} is not", quote(token)));
    merges.emplace_back(written(left), written(right));
  }
  const auto known = reachable(out.tokens, merges, alphabet);
  const bool fallback = model["byte_fallback"].flag(false);
  for (std::string& token : out.tokens)
    if (!known.contains(token) && !(fallback && fallback_byte(token))) token.clear();
  for (size_t id = 0; id < out.tokens.size(); ++id)
    if (!out.tokens[id].empty()) out.ids_[out.tokens[id]] = static_cast<int64_t>(id);
  for (auto& [left, right] : merges) {
    if (!known.contains(left) || !known.contains(right)) continue;
    const Merge merge{out.left.size(), out.ids_.at(left + right)};
    out.merges_[key_of(out.ids_.at(left), out.ids_.at(right))] = merge;
    out.left.push_back(std::move(left));
    out.right.push_back(std::move(right));
  }
  return out;
}

std::vector<int64_t> BytePairs::encode(const std::string& text, Alphabet alphabet) const {
  std::vector<int64_t> ids;
  for (const std::string& symbol : symbols_of(text, alphabet)) {
    const auto at = ids_.find(symbol);
    if (at == ids_.end()) return {};
    ids.push_back(at->second);
  }
  for (;;) {
    const Merge* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto at = merges_.find(key_of(ids[i], ids[i + 1]));
      if (at == merges_.end() || (best != nullptr && at->second.rank >= best->rank)) continue;
      best = &at->second;
      place = i;
    }
    if (best == nullptr) return ids;
    ids[place] = best->id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace slipway::openvino

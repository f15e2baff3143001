// The models of tokenizer.json as string ops.
#include "backends/openvino/tokenizer_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "backends/openvino/tokenizer_bpe.h"
#include "base/log.h"

namespace slipway::openvino {
namespace {

const std::vector<PortType> kRaggedIds = {kIntVector, kIntVector, kIntVector};

void append(Ports& ports, const Ports& more) {
  ports.insert(ports.end(), more.begin(), more.end());
}

/// Options of byte-pair models that the op does not have.
void refuse_options(const Part& model) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!model[key].is_null() && !model[key].text().empty())
      model[key].unsupported("marks parts of words, which OpenVINO's BPE op does not");
  if (!model["dropout"].is_null() && model["dropout"].number() > 0)
    model["dropout"].unsupported("leaves out merges by chance, which OpenVINO's BPE op does not");
}

/// The op gives an unknown token for each byte of a character, not one for the character.
void refuse_unknown(const Part& model, const BytePairs& pairs, Alphabet alphabet) {
  if (model["unk_token"].is_null()) return;
  const bool fallback = model["byte_fallback"].flag(false);
  std::array<bool, 256> has{};
  for (const std::string& token : pairs.tokens) {
    if (alphabet == Alphabet::kBytes && token.size() == 1)
      has[static_cast<uint8_t>(token[0])] = true;
    if (fallback && fallback_byte(token)) has[static_cast<uint8_t>(*fallback_byte(token))] = true;
  }
  if (!std::ranges::all_of(has, [](bool found) { return found; }))
    model["unk_token"].unsupported(
        "stands for characters outside the vocabulary, and OpenVINO's BPE op gives one for each "
        "of their bytes");
}

/// Added tokens that merges make too: the op takes only what merges give.
void check_added(const Part& model, const BytePairs& pairs, const std::vector<AddedToken>& added,
                 Alphabet alphabet) {
  for (const AddedToken& token : added) {
    const std::vector<int64_t> ids = pairs.encode(token.content, alphabet);
    if (ids.size() == 1 && ids[0] != token.id)
      model.unsupported(fmt::format("gives {} for the added token {}, need {}", ids[0],
                                    quote(token.content), token.id));
    if (ids.size() > 1 && pairs.contains(token.content))
      model.unsupported(fmt::format(
          "has merges that make the added token {}, but not from its text", quote(token.content)));
  }
}

/// With ignore_merges a piece that is a token becomes it, whatever merges make of it.
void warn_of_ignored_merges(const Part& model, const BytePairs& pairs, const Vocabulary& vocabulary,
                            const std::vector<AddedToken>& added, Alphabet alphabet) {
  if (!model["ignore_merges"].flag(false)) return;
  std::set<int64_t> cut_out;
  for (const AddedToken& token : added) cut_out.insert(token.id);
  size_t count = 0;
  std::string example;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    const auto text = alphabet == Alphabet::kBytes ? bytes_of_token(token) : token;
    if (!text || text->empty() || cut_out.contains(static_cast<int64_t>(id)) ||
        pairs.encode(*text, alphabet).size() == 1)
      continue;
    if (count++ == 0) example = token;
  }
  if (count > 0)
    log::warning(
        fmt::format("[tokenizer] model.ignore_merges of tokenizer.json: OpenVINO's BPE op "
                    "always merges, so {} tokens, such as {}, come out in parts",
                    count, quote(example)));
}

/// Its own name for a byte would become that byte: the op's vocabulary is one for both.
void keep_names_of_bytes(Pieces& pieces) {
  pieces.split("<(?=0x[0-9A-F]{2}>)", SplitMode::kIsolate);
}

Ports add_bpe(Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
              const std::vector<AddedToken>& added, Alphabet alphabet) {
  refuse_options(model);
  const BytePairs pairs = BytePairs::from(model, vocabulary, alphabet);
  refuse_unknown(model, pairs, alphabet);
  check_added(model, pairs, added, alphabet);
  warn_of_ignored_merges(model, pairs, vocabulary, added, alphabet);
  if (model["byte_fallback"].flag(false)) keep_names_of_bytes(pieces);
  StringGraph& graph = pieces.graph();
  Ports inputs = pieces.ports();
  append(inputs, graph.texts(pairs.tokens));
  append(inputs, graph.texts(pairs.left));
  append(inputs, graph.texts(pairs.right));
  if (!added.empty()) {
    std::vector<std::string> contents;
    std::vector<int32_t> ids;
    for (const AddedToken& token : added) {
      contents.push_back(token.content);
      ids.push_back(static_cast<int32_t>(token.id));
    }
    append(inputs, graph.texts(contents));
    inputs.push_back(graph.integers(ids));
  }
  const size_t cache = std::max<size_t>(20'000, vocabulary.tokens.size() / 5);
  // The op looks its unknown token up among the tokens, where "" would be found.
  return graph.add("BPETokenizer", "extension",
                   {{"unk_token", "no token is unknown"},
                    {"fuse_unk", "false"},
                    {"suffix_indicator", ""},
                    {"end_suffix", ""},
                    {"byte_fallback", model["byte_fallback"].flag(false) ? "true" : "false"},
                    {"cache_capacity", std::to_string(cache)}},
                   inputs, kRaggedIds);
}

/// Pieces that are longer become the unknown token; the op itself counts bytes.
Ports add_word_piece(Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
                     const std::vector<AddedToken>& added) {
  const std::string unknown = model["unk_token"].text();
  const auto id = vocabulary.ids.find(unknown);
  if (id == vocabulary.ids.end()) model["unk_token"].invalid("a token of the vocabulary");
  const Part most = model["max_input_chars_per_word"];
  const int64_t limit = most.is_null() ? 100 : most.integer();
  constexpr int64_t kMostRepeats = 65'000;  // of PCRE2
  if (limit > kMostRepeats) most.invalid("a number up to 65000");
  pieces.replace(fmt::format("^[\\s\\S]{{{},}}\\z", limit + 1), unknown);
  StringGraph& graph = pieces.graph();
  Ports inputs = pieces.ports();
  append(inputs, graph.texts(all_tokens(vocabulary, added)));
  inputs.push_back(graph.scalar(static_cast<int32_t>(id->second)));
  const Part prefix = model["continuing_subword_prefix"];
  constexpr int64_t kBytesOfCharacter = 4;
  return graph.add("WordpieceTokenizer", "extension",
                   {{"suffix_indicator", prefix.is_null() ? "##" : prefix.text()},
                    {"max_bytes_per_word",
                     std::to_string(std::max<int64_t>(kBytesOfCharacter * limit,
                                                      static_cast<int64_t>(unknown.size())))}},
                   inputs, kRaggedIds);
}

/// One token for a text, whatever it is: added tokens win against all that could be put together.
constexpr float kCertain = 1000;

Ports add_unigram(const Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
                  const std::vector<AddedToken>& added) {
  if (vocabulary.scores.empty()) model["vocab"].invalid("a list of tokens with their scores");
  if (model["byte_fallback"].flag(false))
    model["byte_fallback"].unsupported("is on, and OpenVINO's Unigram op has no bytes");
  const Part unknown = model["unk_id"];
  if (unknown.is_null()) unknown.unsupported("is missing, and OpenVINO's Unigram op needs one");
  if (unknown.integer() >= static_cast<int64_t>(vocabulary.scores.size()))
    unknown.invalid("an id of the vocabulary");
  std::vector<std::string> tokens = all_tokens(vocabulary, added);
  std::vector<float> scores = vocabulary.scores;
  // A score that is never the least: the least sets that of unknown characters.
  scores.resize(tokens.size(), kCertain);
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    if (id == static_cast<size_t>(unknown.integer())) continue;
    scores[id] = kCertain;
  }
  for (size_t id = 0; id < tokens.size(); ++id) {
    const auto known = vocabulary.ids.find(tokens[id]);
    const bool repeats = known != vocabulary.ids.end() && id < vocabulary.tokens.size() &&
                         known->second != static_cast<int64_t>(id);
    // The op's tree takes no text twice and no empty one: these are no UTF-8.
    if (tokens[id].empty() || repeats) tokens[id] = fmt::format("\xFF{}", id);
  }
  StringGraph& graph = pieces.graph();
  Ports inputs = pieces.ports();
  append(inputs, graph.texts(tokens));
  inputs.push_back(graph.floats(scores));
  return graph.add("UnigramTokenizer", "extension",
                   {{"byte_fallback", "false"},
                    {"unk_token_id", std::to_string(unknown.integer())},
                    {"fuse_unk", "true"}},
                   inputs, kRaggedIds);
}

}  // namespace

std::vector<std::string> all_tokens(const Vocabulary& vocabulary,
                                    const std::vector<AddedToken>& added) {
  std::vector<std::string> tokens = vocabulary.tokens;
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    if (id >= tokens.size()) tokens.resize(id + 1);
    tokens[id] = token.content;
  }
  return tokens;
}

Ports add_model(Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
                const std::vector<AddedToken>& added, Alphabet alphabet) {
  const std::string type = model.type();
  if (type == "BPE") return add_bpe(pieces, model, vocabulary, added, alphabet);
  if (type == "WordPiece") return add_word_piece(pieces, model, vocabulary, added);
  if (type == "Unigram") return add_unigram(pieces, model, vocabulary, added);
  model.unsupported("has no counterpart among OpenVINO's string ops");
}

}  // namespace slipway::openvino

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
    if (alphabet == Alphabet::kBytes && token.size() == 1) has[static_cast<uint8_t>(token[0])] = true;
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
      model.unsupported(fmt::format("has merges that make the added token {}, but not from its text",
                                    quote(token.content)));
  }
}

/// With ignore_merges a piece that is a token becomes it, whatever merges make of it.
void warn_of_ignored_merges(const Part& model, const BytePairs& pairs,
                            const Vocabulary& vocabulary, const std::vector<AddedToken>& added,
                            Alphabet alphabet) {
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
    log::warning(fmt::format("[tokenizer] model.ignore_merges of tokenizer.json: OpenVINO's BPE op "
                             "always merges, so {} tokens, such as {}, come out in parts",
                             count, quote(example)));
}

Ports add_bpe(const Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
              const std::vector<AddedToken>& added, Alphabet alphabet) {
  refuse_options(model);
  const BytePairs pairs = BytePairs::from(model, vocabulary, alphabet);
  refuse_unknown(model, pairs, alphabet);
  check_added(model, pairs, added, alphabet);
  warn_of_ignored_merges(model, pairs, vocabulary, added, alphabet);
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

Ports add_model(const Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
                const std::vector<AddedToken>& added, Alphabet alphabet) {
  const std::string type = model.type();
  if (type == "BPE") return add_bpe(pieces, model, vocabulary, added, alphabet);
  model.unsupported("has no counterpart among OpenVINO's string ops");
}

}  // namespace slipway::openvino

// The detokenizer. What decoders do to single tokens is done to the vocabulary when it is written.
#include "backends/openvino/tokenizer_decoder.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "backends/openvino/tokenizer_regex.h"
#include "slipway/error.h"

namespace slipway::openvino {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Takes at most `most` copies of a character away from an end.
void strip(std::string& text, std::string_view character, int64_t most, bool left) {
  for (int64_t i = 0; i < most && !character.empty(); ++i) {
    if (left ? !text.starts_with(character) : !text.ends_with(character)) return;
    text.erase(left ? 0 : text.size() - character.size(), character.size());
  }
}

/// The spaces that WordPiece's decoder takes away again.
void clean_up(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

/// Replaces matches in the joined texts.
struct TextRule {
  std::string pattern, replacement;
};

/// What decoders do: to each token, then to the text.
struct Decoding {
  std::vector<std::function<void(std::string&)>> tokens;
  std::vector<TextRule> text;
  bool fused = false;
};

void add_replace(Decoding& out, const Part& part) {
  const Part from = part["pattern"]["String"], to = part["content"];
  if (from.is_null()) part.unsupported("replaces by an expression, which is done for texts only");
  if (out.fused) {
    out.text.push_back({literal(from.text()), replacement(to)});
    return;
  }
  out.tokens.push_back(
      [from = from.text(), to = to.text()](std::string& token) { replace_all(token, from, to); });
}

void add_strip(Decoding& out, const Part& part) {
  const std::string content = part["content"].text();
  const int64_t start = part["start"].integer(), stop = part["stop"].integer();
  if (!out.fused) {
    out.tokens.push_back([=](std::string& token) {
      strip(token, content, start, true);
      strip(token, content, stop, false);
    });
    return;
  }
  if (start > 0) out.text.push_back({fmt::format("^(?:{}){{1,{}}}", literal(content), start), ""});
  if (stop > 0) out.text.push_back({fmt::format("(?:{}){{1,{}}}\\z", literal(content), stop), ""});
}

/// Words are set apart by a space in front of each, which the first one of a text loses again.
void set_apart(Decoding& out) { out.text.push_back({"^ ", ""}); }

void add_word_piece(Decoding& out, const Part& part) {
  const std::string prefix = part["prefix"].text();
  const bool cleanup = part["cleanup"].flag(true);
  out.tokens.push_back([=](std::string& token) {
    if (!prefix.empty() && token.starts_with(prefix)) token.erase(0, prefix.size());
    else token.insert(0, " ");
    if (cleanup) clean_up(token);
  });
  set_apart(out);
}

void add_metaspace(Decoding& out, const Part& part) {
  const std::string mark = part.has("replacement") ? part["replacement"].text() : "\u2581";
  out.tokens.push_back([mark](std::string& token) { replace_all(token, mark, " "); });
  const Part scheme = part["prepend_scheme"];
  const bool first =
      scheme.is_null() ? part["add_prefix_space"].flag(true) : scheme.text() != "never";
  if (first) set_apart(out);
}

void add_decoder(Decoding& out, const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") {
    for (const Part& step : part["decoders"].list()) add_decoder(out, step);
    return;
  }
  const bool about_tokens = type != "Replace" && type != "Strip" && type != "Fuse";
  if (about_tokens && out.fused) part.unsupported("follows Fuse, which leaves no tokens");
  if (type == "Fuse") out.fused = true;
  else if (type == "Replace") add_replace(out, part);
  else if (type == "Strip") add_strip(out, part);
  else if (type == "WordPiece") add_word_piece(out, part);
  else if (type == "Metaspace") add_metaspace(out, part);
  else if (type == "ByteLevel")
    out.tokens.push_back([](std::string& token) {
      if (auto bytes = bytes_of_token(token)) token = *std::move(bytes);
    });
  else if (type == "ByteFallback")
    out.tokens.push_back([](std::string& token) {
      if (const auto byte = fallback_byte(token)) token = std::string(1, *byte);
    });
  else part.unsupported("has no counterpart among OpenVINO's string ops");
}

Decoding decoding_of(const Part& part) {
  Decoding out;
  if (!part.is_null()) {
    add_decoder(out, part);
    return out;
  }
  out.tokens.push_back([](std::string& token) { token.insert(0, " "); });
  set_apart(out);
  return out;
}

}  // namespace

void add_detokenizer(StringGraph& graph, const Part& tokenizer, const Vocabulary& vocabulary,
                     const std::vector<AddedToken>& added) {
  const Decoding decoding = decoding_of(tokenizer["decoder"]);
  std::vector<std::string> tokens = all_tokens(vocabulary, added);
  for (std::string& token : tokens)
    if (!token.empty())
      for (const auto& step : decoding.tokens) step(token);
  std::vector<int32_t> silent;
  for (const AddedToken& token : added)
    if (token.special) silent.push_back(static_cast<int32_t>(token.id));

  const Port given = graph.parameter("ids", {Element::kI64, {-1, -1}});
  Ports inputs = graph.add("Convert", "opset1", {{"destination_type", "i32"}}, {given},
                           {{Element::kI32, {-1, -1}}});
  for (const Port port : graph.texts(tokens)) inputs.push_back(port);
  inputs.push_back(graph.integers(silent));
  const Ports rows = graph.add("VocabDecoder", "extension", {{"skip_tokens", ""}}, inputs,
                               {kIntVector, kIntVector, kIntVector, kIntVector, kByteVector});
  Ports text = graph.add("FuzeRagged", "extension", {}, {rows[0], rows[1], rows[2], rows[3]},
                         {kIntVector, kIntVector});
  text.push_back(rows[4]);
  const std::vector<PortType> strings = {kIntVector, kIntVector, kByteVector};
  text = graph.add("UTF8Validate", "extension", {{"replace_mode", "true"}}, text, strings);
  for (const TextRule& rule : decoding.text) {
    text.push_back(graph.text(rule.pattern));
    text.push_back(graph.text(rule.replacement));
    text =
        graph.add("RegexNormalization", "extension", {{"global_replace", "true"}}, text, strings);
  }
  const Port packed =
      graph.add("StringTensorPack", "opset15", {}, text, {{Element::kString, {-1}}})[0];
  graph.result(packed, "string_output");
}

}  // namespace slipway::openvino

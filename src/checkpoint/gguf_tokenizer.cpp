// Tokenizer files rebuilt from GGUF metadata.
#include "checkpoint/gguf_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_vocab.h"

namespace slipway {
namespace {

/// Byte-level vocabularies write every byte as a printable character: itself where it is one,
/// otherwise the next character from U+0100 on.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
      append_utf8(spelling_[byte], printable ? byte : next++);
    }
    // All of them lie in U+0021..U+0143.
    for (const std::string& s : spelling_) known_[code_point(s)] = true;
  }

  bool covers(std::string_view text) const {
    for (size_t i = 0; i < text.size();) {
      const size_t length = static_cast<unsigned char>(text[i]) < 0x80 ? 1 : 2;
      if (text.size() - i < length) return false;
      const unsigned code = code_point(text.substr(i, length));
      if (code >= known_.size() || !known_[code]) return false;
      i += length;
    }
    return true;
  }

  std::string spell(std::string_view text) const {
    std::string out;
    for (const char c : text) out += spelling_[static_cast<unsigned char>(c)];
    return out;
  }

 private:
  static void append_utf8(std::string& out, unsigned code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  /// Of one or two bytes; a longer character's lead byte gives a code beyond the alphabet.
  static unsigned code_point(std::string_view s) {
    const auto lead = static_cast<unsigned char>(s[0]);
    if (s.size() == 1) return lead;
    if (lead >= 0xe0) return 0xffff;
    return (lead & 0x1fu) << 6 | (static_cast<unsigned char>(s[1]) & 0x3fu);
  }

  std::array<std::string, 256> spelling_;
  std::array<bool, 0x144> known_ = {};
};

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

/// Writes tokenizer.json as text: a vocabulary is too large for a tree of values.
class TokenizerJson {
 public:
  TokenizerJson(const GgufFile& file, const GgufVocab& vocab) : file_(file), vocab_(vocab) {
    spell_tokens();
    ids_.reserve(tokens_.size());
    hidden_.resize(tokens_.size());
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const auto [at, fresh] = ids_.try_emplace(tokens_[i], i);
      if (fresh) continue;
      hidden_[at->second] = true;
      at->second = i;
    }
  }

  std::string write() {
    const GgufMerges merges = this->merges();
    check(merges);
    std::string out = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
    append_added(out);
    out +=
        fmt::format(R"(],"normalizer":null,"pre_tokenizer":{},"post_processor":{},"decoder":{},)",
                    pre_tokenizer().dump(), post_processor().dump(), decoder().dump());
    out += byte_level() ? R"("model":{"type":"BPE","dropout":null,"unk_token":null,)"
                          R"("continuing_subword_prefix":"","end_of_word_suffix":"",)"
                          R"("fuse_unk":false,"byte_fallback":false,"ignore_merges":false,)"
                        : R"("model":{"type":"BPE","dropout":null,"unk_token":null,)"
                          R"("continuing_subword_prefix":null,"end_of_word_suffix":null,)"
                          R"("fuse_unk":true,"byte_fallback":true,"ignore_merges":false,)";
    out += R"("vocab":{)";
    append_vocab(out);
    out += R"(},"merges":[)";
    for (size_t i = 0; i < merges.size(); ++i) {
      out += i == 0 ? "[" : ",[";
      append_text(out, merges[i].first);
      out += ',';
      append_text(out, merges[i].second);
      out += ']';
    }
    out += "]}}";
    return out;
  }

 private:
  bool byte_level() const { return vocab_.model == "gpt2"; }

  bool prefix_space() const {
    return file_.metadata().find_bool("tokenizer.ggml.add_space_prefix").value_or(true);
  }

  /// Added tokens keep their text; what else is outside the byte alphabet is written in it.
  void spell_tokens() {
    tokens_.reserve(vocab_.tokens.size());
    if (!byte_level()) {
      tokens_.assign(vocab_.tokens.begin(), vocab_.tokens.end());
      return;
    }
    const ByteAlphabet alphabet;
    for (size_t i = 0; i < vocab_.tokens.size(); ++i) {
      const std::string_view token = vocab_.tokens[i];
      if (vocab_.is_added(i) || alphabet.covers(token)) tokens_.emplace_back(token);
      else tokens_.push_back(alphabet.spell(token));
    }
  }

  GgufMerges merges() const {
    if (auto stored = gguf_stored_merges(file_)) return std::move(*stored);
    return gguf_implied_merges(file_, vocab_);
  }

  void check(const GgufMerges& merges) const {
    for (const auto& [left, right] : merges)
      for (const std::string& part : {left, right, left + right})
        if (!ids_.contains(part))
          throw Error(kInvalid,
                      fmt::format("[gguf] {}: tokenizer.ggml.merges: {} + {} needs the token {}, "
                                  "which is not in the vocabulary",
                                  file_.where(), quote(left), quote(right), quote(part)));
  }

  void append_added(std::string& out) const {
    bool first = true;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (hidden_[i] || tokens_[i].empty() || !vocab_.is_added(i)) continue;
      out += fmt::format(R"({}{{"id":{},"content":)", first ? "" : ",", i);
      append_text(out, tokens_[i]);
      out += fmt::format(
          R"(,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":{}}})",
          vocab_.is_special(i));
      first = false;
    }
  }

  void append_vocab(std::string& out) const {
    bool first = true;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (hidden_[i]) continue;
      if (!first) out += ',';
      first = false;
      append_text(out, tokens_[i]);
      out += ':';
      out += std::to_string(i);
    }
  }

  Json pre_tokenizer() const {
    if (byte_level())
      return gguf_pre_tokenizer(
          file_.metadata().find_string("tokenizer.ggml.pre").value_or("default"), file_.where());
    return {{"type", "Metaspace"},
            {"replacement", "\u2581"},
            {"prepend_scheme", prefix_space() ? "first" : "never"},
            {"split", false}};
  }

  Json decoder() const {
    if (byte_level())
      return {{"type", "ByteLevel"},
              {"add_prefix_space", true},
              {"trim_offsets", true},
              {"use_regex", true}};
    Json steps = Json::array({
        {{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
        Json{{"type", "ByteFallback"}},
        Json{{"type", "Fuse"}},
    });
    if (prefix_space())
      steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
  }

  /// Begin and end tokens around each sequence where the file wants them.
  Json post_processor() const {
    Json special = Json::object();
    const auto token = [&](int64_t id, int type) {
      const std::string& text = tokens_[static_cast<size_t>(id)];
      special[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
      return Json{{"SpecialToken", {{"id", text}, {"type_id", type}}}};
    };
    const auto sequence = [&](const char* name, int type) {
      Json out = Json::array();
      if (vocab_.add_bos) out.push_back(token(*vocab_.bos, type));
      out.push_back({{"Sequence", {{"id", name}, {"type_id", type}}}});
      if (vocab_.add_eos) out.push_back(token(*vocab_.eos, type));
      return out;
    };
    const Json single = sequence("A", 0);
    Json pair = single;
    for (const Json& item : sequence("B", 1)) pair.push_back(item);
    return {{"type", "TemplateProcessing"},
            {"single", single},
            {"pair", std::move(pair)},
            {"special_tokens", std::move(special)}};
  }

  const GgufFile& file_;
  const GgufVocab& vocab_;
  std::vector<std::string> tokens_;  ///< as tokenizer.json spells them
  std::unordered_map<std::string_view, size_t> ids_;
  std::vector<bool> hidden_;  ///< tokens that a later one of the same text replaces
};

/// {"bos_token": "<s>", ...} of the tokens that the file names.
Json special_tokens(const GgufVocab& vocab) {
  Json out = Json::object();
  for (const auto& [key, id] :
       {std::pair{"bos_token", vocab.bos}, std::pair{"eos_token", vocab.eos},
        std::pair{"pad_token", vocab.padding}, std::pair{"unk_token", vocab.unknown}})
    if (id) out[key] = std::string(vocab.tokens[static_cast<size_t>(*id)]);
  return out;
}

Json tokenizer_config(const GgufFile& file, const GgufVocab& vocab) {
  Json out = {{"add_bos_token", vocab.add_bos}, {"add_eos_token", vocab.add_eos}};
  out.update(special_tokens(vocab));
  out["clean_up_tokenization_spaces"] = false;
  if (const auto length = file.metadata().find_int(gguf_key(file, "context_length"), 1, INT32_MAX))
    out["model_max_length"] = *length;
  out["tokenizer_class"] = "PreTrainedTokenizerFast";
  return out;
}

}  // namespace

std::vector<CompanionFile> gguf_tokenizer_files(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  const auto model = metadata.find_string("tokenizer.ggml.model");
  if (!model || *model == "no_vocab") return {};
  if (*model != "gpt2" && *model != "llama")
    throw Error(kUnsupported,
                fmt::format("[gguf] {}: tokenizer.ggml.model: got {}, supported: gpt2, llama",
                            file.where(), quote(*model)));
  const GgufVocab vocab = gguf_vocab(file);
  std::vector<CompanionFile> out;
  if (const auto chat = metadata.find_string("tokenizer.chat_template"))
    out.push_back({"chat_template.jinja", std::string(*chat)});
  out.push_back({"special_tokens_map.json", special_tokens(vocab).dump(2) + "\n"});
  out.push_back({"tokenizer.json", TokenizerJson(file, vocab).write()});
  out.push_back({"tokenizer_config.json", tokenizer_config(file, vocab).dump(2) + "\n"});
  return out;
}

}  // namespace slipway

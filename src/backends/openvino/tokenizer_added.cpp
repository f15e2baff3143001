// Added tokens: cut out of the text before the model sees it.
#include <fmt/format.h>

#include <algorithm>

#include "backends/openvino/tokenizer_regex.h"
#include "backends/openvino/tokenizer_steps.h"
#include "slipway/error.h"

namespace slipway::openvino {
namespace {

/// Each token with what it takes along: one pattern, tokens that look alike as one group.
void mark_tokens(Pieces& pieces, const std::vector<AddedToken>& tokens) {
  const std::string space = "[" + std::string(kWhiteSpace) + "]*";
  std::string pattern;
  for (int flags = 0; flags < 4; ++flags) {
    const bool lstrip = flags & 1, rstrip = flags & 2;
    std::vector<std::string> texts;
    for (const AddedToken& token : tokens)
      if (!token.content.empty() && token.lstrip == lstrip && token.rstrip == rstrip)
        texts.push_back(token.content);
    if (texts.empty()) continue;
    pattern += pattern.empty() ? "" : "|";
    if (lstrip) pattern += space;
    pattern += "(" + longest_of(texts) + ")";
    if (rstrip) pattern += space;
  }
  if (!pattern.empty()) pieces.mark_tokens(pattern);
}

/// Whether a normalizer only brings characters into a Unicode form, so that ASCII stays as it is.
bool keeps_ascii(const Part& normalizer) {
  const std::string type = normalizer.type();
  if (type != "Sequence") return type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD";
  const std::vector<Part> steps = normalizer["normalizers"].list();
  return std::ranges::all_of(steps, keeps_ascii);
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

void add_normalizer(Pieces& pieces, const Part& normalizer, const std::vector<AddedToken>& tokens) {
  // The models' ops know tokens, not where they stand: they would find one inside a word too.
  for (const AddedToken& token : tokens)
    if (token.single_word)
      throw Error(kUnsupported, fmt::format("[tokenizer] added_tokens of tokenizer.json: {} is a "
                                            "token as a whole word only (single_word), which "
                                            "OpenVINO's ops cannot tell",
                                            quote(token.content)));
  const auto normalized = [](const AddedToken& token) { return token.normalized; };
  // The op cuts tokens out once: all of them in front of the normalizer, or all behind it.
  const bool behind = !normalizer.is_null() && std::ranges::all_of(tokens, normalized);
  if (!normalizer.is_null())
    for (const AddedToken& token : tokens)
      if (token.normalized && !(keeps_ascii(normalizer) && is_ascii(token.content)))
        normalizer.unsupported(
            fmt::format("may change the added token {} too; give that token normalized = false",
                        quote(token.content)));
  if (!behind) mark_tokens(pieces, tokens);
  add_normalizer(pieces, normalizer);
  if (behind) mark_tokens(pieces, tokens);
}

}  // namespace slipway::openvino

// Added tokens: cut out of the text before the model sees it.
#include <array>

#include "backends/openvino/tokenizer_regex.h"
#include "backends/openvino/tokenizer_steps.h"

namespace slipway::openvino {

void mark_added_tokens(Pieces& pieces, const std::vector<AddedToken>& tokens,
                       bool AddedToken::* kind, bool wanted) {
  const std::string space = "[" + std::string(kWhiteSpace) + "]*";
  std::string pattern;
  for (int flags = 0; flags < 8; ++flags) {
    const bool lstrip = flags & 1, rstrip = flags & 2, single_word = flags & 4;
    std::vector<std::string> texts;
    for (const AddedToken& token : tokens)
      if (token.*kind == wanted && !token.content.empty() && token.lstrip == lstrip &&
          token.rstrip == rstrip && token.single_word == single_word)
        texts.push_back(token.content);
    if (texts.empty()) continue;
    pattern += pattern.empty() ? "" : "|";
    if (lstrip) pattern += space;
    if (single_word) pattern += R"((?<!\w))";
    pattern += "(" + longest_of(texts) + ")";
    if (single_word) pattern += R"((?!\w))";
    if (rstrip) pattern += space;
  }
  if (!pattern.empty()) pieces.mark_tokens(pattern);
}

}  // namespace slipway::openvino

// The steps of a tokenizer in front of its model, from their components in tokenizer.json.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backends/openvino/tokenizer_part.h"
#include "backends/openvino/tokenizer_pieces.h"

namespace slipway::openvino {

struct AddedToken {
  int64_t id = 0;
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

/// What the characters of a vocabulary stand for where the model gets to see pieces of text.
enum class Alphabet { kCharacters, kBytes };

/// `normalizer`, where null does nothing, and the added tokens, which are cut out of the text
/// before the model sees it. Throws Error{kUnsupported} naming what has no op, a token that is one
/// as a whole word only, or one that is looked for in the normalized text and whose own text
/// normalization might change.
void add_normalizer(Pieces& pieces, const Part& normalizer, const std::vector<AddedToken>& tokens);
/// The normalizer alone.
void add_normalizer(Pieces& pieces, const Part& normalizer);

/// `pre_tokenizer`: null does nothing. Throws Error{kUnsupported} naming what has no op.
Alphabet add_pre_tokenizer(Pieces& pieces, const Part& pre_tokenizer);

/// What a Metaspace with the scheme "first" does before everything else: the first piece of a text
/// gets its mark, unless it is one of the tokens. Refuses it behind a normalizer.
void add_first_metaspace(Pieces& pieces, const Part& pre_tokenizer, const Part& normalizer,
                         const std::vector<AddedToken>& tokens);

}  // namespace slipway::openvino

// The models of tokenizer.json as string ops: pieces of text to ids.
#pragma once

#include <vector>

#include "backends/openvino/tokenizer_pieces.h"
#include "backends/openvino/tokenizer_vocabulary.h"

namespace slipway::openvino {

/// Adds `model` behind the pieces. Gives row begins, row ends and ids, int32. Throws
/// Error{kUnsupported} naming what OpenVINO's op cannot do, Error{kInvalid} for a model that is
/// broken.
Ports add_model(Pieces& pieces, const Part& model, const Vocabulary& vocabulary,
                const std::vector<AddedToken>& added, Alphabet alphabet);

/// The tokens of the model and the added ones by id, in their own writing.
std::vector<std::string> all_tokens(const Vocabulary& vocabulary,
                                    const std::vector<AddedToken>& added);

}  // namespace slipway::openvino

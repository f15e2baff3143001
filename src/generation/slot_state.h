// A state of a decoder that keeps its cache inside and is told the slots of the tokens.
#pragma once

#include "generation/batch_state.h"

namespace slipway {

/// One row. A token goes to the slot that is its number and sees the slots before it, so a text
/// that begins at slot 0 needs no clearing, and tokens that are forgotten are overwritten. Rows
/// cannot move. Where the program does not name its cache, it cannot be copied or looked at, and
/// what is forgotten may be needed: that is Error{kUnsupported}.
class SlotState final : public BatchState {
 public:
  SlotState(std::shared_ptr<const Decoder> decoder, int64_t slots);

  std::unique_ptr<DecoderState> copy() const override;
  std::vector<std::pair<std::string, Tensor>> cache() const override;

 private:
  SlotState(const SlotState& other);

  /// Gives the logits of the last token only, so `keep` others are read one by one.
  Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) override;
  Tensor run_tokens(const TokenSpan& tokens, int64_t past);
  void reset_cache() override {}
  void reorder_cache(std::span<const int64_t>) override {}
  void crop_cache(int64_t before) override;
  void need_named_cache(const char* what) const;
};

}  // namespace slipway

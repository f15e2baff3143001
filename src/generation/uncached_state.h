// A state of a decoder without a cache: every call runs the whole sequence again.
#pragma once

#include "generation/batch_state.h"

namespace slipway {

class UncachedState final : public BatchState {
 public:
  explicit UncachedState(std::shared_ptr<const Decoder> decoder);

  std::unique_ptr<DecoderState> copy() const override;

 private:
  Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) override;
  int64_t piece_size(int64_t past, int64_t count) const override;
  void reset_cache() override;
  void reorder_cache(std::span<const int64_t> source) override;
  void crop_cache(int64_t before) override;

  std::vector<std::vector<int64_t>> ids_;  ///< by row
  std::vector<int64_t> flat_;              ///< the same, as one call's tokens
};

}  // namespace slipway

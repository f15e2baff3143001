// A state of a decoder whose keys and values lie in slots that every call fills in place.
#pragma once

#include "generation/batch_state.h"

namespace slipway {

/// One buffer a tensor, [batch, heads, slots, head size], made for a batch and used until another
/// batch needs a larger one. It is input and output of the graph at once. Slots that are not
/// filled are zero: masked as they are, a number that is none would still spoil the sums.
class StaticState final : public BatchState {
 public:
  StaticState(std::shared_ptr<const Decoder> decoder, int64_t slots);

  std::unique_ptr<DecoderState> copy() const override;
  std::vector<std::pair<std::string, Tensor>> cache() const override;

 private:
  StaticState(const StaticState& other);

  Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) override;
  void reset_cache() override;
  void reorder_cache(std::span<const int64_t> source) override;
  void crop_cache(int64_t before) override;

  /// Buffers that are zero or hold the batch's contents, with as many rows as `batch`.
  void make_room(int64_t batch);
  void bind(DecoderCall& call);
  CacheLines lines(size_t tensor) const;
  size_t slot_bytes(size_t tensor) const;
  void clear_slots(int64_t begin, int64_t end);

  int64_t batch_ = 0;           ///< rows that the buffers are laid out for
  int64_t used_ = 0;            ///< slots that may be other than zero
  std::vector<Block> buffers_;  ///< as decoder().step.caches
  Block scratch_;
  bool prompt_bound_ = false, step_bound_ = false;
};

}  // namespace slipway

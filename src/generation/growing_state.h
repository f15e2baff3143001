// A state of a decoder whose keys and values grow with every call.
#pragma once

#include "generation/batch_state.h"

namespace slipway {

/// Keys and values of exact length, as the graph wants them, go from one buffer to the other. The
/// buffers have room to spare and grow geometrically, so that a step allocates none of their size.
class GrowingState final : public BatchState {
 public:
  explicit GrowingState(std::shared_ptr<const Decoder> decoder);

  std::unique_ptr<DecoderState> copy() const override;
  std::vector<std::pair<std::string, Tensor>> cache() const override;

 private:
  GrowingState(const GrowingState& other);

  /// One tensor's contents, and where the next call writes what becomes them.
  struct Pair {
    Block now, next;
  };

  Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) override;
  void reset_cache() override;
  void reorder_cache(std::span<const int64_t> source) override;
  void crop_cache(int64_t before) override;
  /// Contents as inputs, room for the longer ones as outputs.
  void set_caches(DecoderCall& call, int64_t past, int64_t total);
  /// Refuses a call whose caches the system has no memory for, all of them together.
  void check_room(const DecoderGraph& graph, int64_t total) const;
  size_t line_bytes(size_t tensor, int64_t slots) const;

  std::vector<Pair> buffers_;    ///< as decoder().step.caches
  DecoderCall* last_ = nullptr;  ///< the call whose outputs are the contents
};

}  // namespace slipway

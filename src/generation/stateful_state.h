// A state of a decoder whose cache the runtime keeps from call to call.
#pragma once

#include "generation/batch_state.h"

namespace slipway {

/// Keys and values lie in the states of the graphs' calls. Rows that move while the batch stays as
/// large move with the next call, which is told where each row's cache is; other changes take the
/// contents out and put them back.
class StatefulState final : public BatchState {
 public:
  /// `slots` of a static cache; nothing for one that grows.
  StatefulState(std::shared_ptr<const Decoder> decoder, std::optional<int64_t> slots);

  std::unique_ptr<DecoderState> copy() const override;
  std::vector<std::pair<std::string, Tensor>> cache() const override;

 private:
  StatefulState(const StatefulState& other);

  Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) override;
  void reset_cache() override;
  void reorder_cache(std::span<const int64_t> source) override;
  void crop_cache(int64_t before) override;

  /// The contents as they are now, in the order of decoder().step.caches.
  std::vector<Tensor> contents() const;
  /// Makes them what the next call continues from, with `length` tokens.
  void put(std::vector<Tensor> contents, int64_t length);
  void set_counters(DecoderCall& call, int64_t length);

  int64_t batch_ = 0;            ///< rows of the contents
  DecoderCall* live_ = nullptr;  ///< the call whose states are the contents
  std::vector<Tensor> outside_;  ///< the contents where they are in no call
  std::vector<int64_t> moved_;   ///< row i continues row moved_[i] of them; empty: its own
};

}  // namespace slipway

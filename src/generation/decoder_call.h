// One graph of a decoder as a repeated call: tokens, positions and masks in, logits out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generation/attention_masks.h"
#include "runtime/repeated_call.h"

namespace slipway {

/// Tokens of a batch: `count` columns of rows that are `stride` apart.
struct TokenSpan {
  const int64_t* ids = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
};

/// Makes all inputs but the caches, in memory of its own that is described to the runtime only when
/// it changes place or shape.
class DecoderCall {
 public:
  explicit DecoderCall(const DecoderGraph& graph);

  const DecoderGraph& graph() const { return graph_; }
  RepeatedCall& call() { return call_; }
  const RepeatedCall& call() const { return call_; }
  /// Where the keys or values number i of graph().caches are among the inputs and outputs.
  size_t cache_input(size_t i) const { return first_cache_ + i; }
  size_t cache_output(size_t i) const { return 1 + i; }

  /// Runs on tokens that begin at position `begin` of `rows`, which have them already. `slots` is
  /// the length of masks of rank 4; row i continues the cache of row `beams[i]` of a graph that
  /// keeps it, its own where there are none. Returns the logits of the last `keep` tokens, float32
  /// [batch, keep, vocabulary], valid until the next run.
  Tensor run(const TokenRows& rows, const TokenSpan& tokens, int64_t begin, int64_t slots,
             int64_t keep, std::span<const int64_t> beams = {});

 private:
  /// An input's memory and shape as they were last given to the runtime.
  struct Slot {
    const void* data = nullptr;
    Shape shape;
  };
  void set_input(size_t at, DType dtype, std::initializer_list<int64_t> shape, const void* data);
  void set_tokens(const TokenRows& rows, const TokenSpan& tokens, int64_t begin);
  void set_masks(const TokenRows& rows, int64_t begin, int64_t count, int64_t slots);
  void set_slots(int64_t begin, int64_t count);
  void set_beams(int64_t batch, std::span<const int64_t> beams);
  void set_logits(int64_t batch, int64_t given);
  Tensor kept_logits(int64_t batch, int64_t given, int64_t keep);

  const DecoderGraph& graph_;
  RepeatedCall call_;
  size_t positions_at_ = 0, slots_at_ = 0, keep_at_ = 0, masks_at_ = 0, counters_at_ = 0;
  size_t beams_at_ = 0;
  size_t first_cache_ = 0;
  std::vector<Slot> slots_;
  Block ids_, positions_, slot_positions_, scalars_, beams_, logits_, converted_;
  std::vector<PaddingMask> padding_;
  std::vector<VisibilityMask> visibility_;
  Shape logits_shape_;  ///< as given to the runtime; empty: it allocates them
};

}  // namespace slipway

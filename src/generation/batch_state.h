// What all states of a decoder share: checks, the rows read so far, and pieces of long prompts.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "generation/decoder_call.h"

namespace slipway {

/// Tokens that one call reads at most where it may read any number: the memory of a prompt's
/// attention and logits grows with this, not with the prompt.
constexpr int64_t kPromptPiece = 512;

/// A state's frame. The derived classes keep the cache and move its rows.
class BatchState : public DecoderState {
 public:
  /// `slots` of a static cache; nothing for one that grows.
  explicit BatchState(std::shared_ptr<const Decoder> decoder,
                      std::optional<int64_t> slots = std::nullopt);

  Tensor forward(const Tensor& ids, const Tensor& mask, int64_t keep) final;
  int64_t batch_size() const final { return rows_.batch(); }
  int64_t length() const final { return rows_.length(); }
  std::optional<int64_t> max_length() const final;
  LengthLimit limit_kind() const final;
  std::optional<int64_t> angles_change_at() const final { return decoder_->angles_change_at; }
  void reset() final;
  void reorder(std::span<const int64_t> rows) final;
  void crop(int64_t length) final;
  double runtime_seconds() const final;

 protected:
  /// For copy(): everything but the cache.
  BatchState(const BatchState& other);

  const Decoder& decoder() const { return *decoder_; }
  const TokenRows& rows() const { return rows_; }
  std::optional<int64_t> slots() const { return slots_; }
  DecoderCall& prompt_call() { return prompt_; }
  DecoderCall& step_call() { return step_ ? *step_ : prompt_; }
  const DecoderCall& step_call() const { return step_ ? *step_ : prompt_; }

  /// Reads tokens that rows() holds already, `past` others before them.
  virtual Tensor run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) = 0;
  /// How many of `count` tokens one call may read after `past` others.
  virtual int64_t piece_size(int64_t past, int64_t count) const;
  virtual void reset_cache() = 0;
  /// rows() has the new order already, `source` is what it was made from.
  virtual void reorder_cache(std::span<const int64_t> source) = 0;
  /// Of `before` tokens, rows().length() are left, at least one.
  virtual void crop_cache(int64_t before) = 0;

 private:
  void check_usable() const;
  void check_call(const Tensor& ids, const Tensor& mask, int64_t keep) const;
  Tensor run_pieces(const Tensor& ids, int64_t past, int64_t keep);

  std::shared_ptr<const Decoder> decoder_;
  std::optional<int64_t> slots_;
  TokenRows rows_;
  DecoderCall prompt_;
  std::optional<DecoderCall> step_;  ///< where it is another graph
  bool broken_ = false;              ///< a call failed half way
};

}  // namespace slipway

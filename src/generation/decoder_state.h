// What generation needs from a decoder: read tokens, give logits, and move its memory around.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slipway/tensor.h"

namespace slipway {

/// What bounds the tokens of a row.
enum class LengthLimit { kPositions, kSlots };

/// A batch of token sequences that a decoder has read so far, with the cache that goes with them.
/// The model's weights are shared by all states of one export; a state is used by one thread at a
/// time. After an exception the state must be reset() before it is used again.
class DecoderState {
 public:
  virtual ~DecoderState() = default;

  /// Reads `ids`, int64 [batch, n] with n >= 1, after what was read before. `mask`, of the same
  /// shape, is 0 for padding, which only the first tokens of a row may be. The first call after
  /// reset() fixes the batch. Returns the logits of the last `keep` (1 <= keep <= n) positions,
  /// float32 [batch, keep, vocabulary]; they are valid until the next call. Throws Error{kInvalid}
  /// for more tokens than max_length() and for another batch, before the runtime sees anything.
  virtual Tensor forward(const Tensor& ids, const Tensor& mask, int64_t keep) = 0;

  /// Rows; 0 before the first forward().
  virtual int64_t batch_size() const = 0;
  /// Tokens a row read up to now, padding included.
  virtual int64_t length() const = 0;
  /// The most tokens a row that can ever be read: positions of the model, slots of the cache.
  virtual std::optional<int64_t> max_length() const = 0;
  /// Which of the two max_length() is.
  virtual LengthLimit limit_kind() const { return LengthLimit::kPositions; }

  /// The length from which what a call computes depends on how far it reaches, so that several
  /// tokens at once are not the same as one after the other; nothing for most models.
  virtual std::optional<int64_t> angles_change_at() const { return std::nullopt; }

  /// Forgets everything; the next forward() starts a new batch.
  virtual void reset() = 0;
  /// Row i becomes what row `rows[i]` was. The batch becomes as large as `rows`; rows may repeat.
  virtual void reorder(std::span<const int64_t> rows) = 0;
  /// Forgets all tokens after the first `length` (at most length()).
  virtual void crop(int64_t length) = 0;
  /// An independent state with the same contents, on the same weights.
  virtual std::unique_ptr<DecoderState> copy() const = 0;

  /// Views of the cache by leaf name, [batch, heads, slots, head size]; they are valid until the
  /// state changes. Empty where there is none.
  virtual std::vector<std::pair<std::string, Tensor>> cache() const { return {}; }
  /// Time spent inside the runtime since the state was made, where it is known.
  virtual double runtime_seconds() const { return 0; }
};

}  // namespace slipway

// A decoder with its cache: tokens in, logits out, call after call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slipway/exported_model.h"

namespace slipway {

struct GenerationSessionOptions {
  /// Slots of a static cache whose length was left open at export; by default as many as the model
  /// has positions, up to 2048. Growing caches take no notice of it.
  std::optional<int64_t> max_cache_len;
};

/// What one batch of sequences has read, on an export that may serve many: sessions share the
/// weights and have a cache of their own, so sessions may run in several threads at once, each in
/// one thread at a time. Two calls at once into one session are Error{kUsage}. The export's
/// runtime must not be changed with to() while a session is in use. Movable.
///
/// After a call that failed in the runtime only reset() is possible; a call that was refused
/// before has changed nothing.
class GenerationSession {
 public:
  struct Impl;

  /// Of an export with one component "model", or "prefill" and "decode". Throws
  /// Error{kUnsupported} naming what is missing for one that is no decoder, Error{kInvalid} for
  /// more slots than the export has.
  explicit GenerationSession(const ExportedModel& exported,
                             const GenerationSessionOptions& options = {});
  GenerationSession(GenerationSession&&) noexcept;
  GenerationSession& operator=(GenerationSession&&) noexcept;
  ~GenerationSession();

  /// Reads integers [batch, n] after what was read before and returns the logits of the last
  /// `logits_to_keep` positions (0: of all n) as float32 [batch, positions, vocabulary], valid
  /// until the next call. `attention_mask`, of the same shape, is 0 for padding, which stands in
  /// front of a row; undefined: no padding. The first call fixes the batch. Throws Error{kInvalid}
  /// for more tokens than max_length() and for ids outside the vocabulary.
  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                 int64_t logits_to_keep = 1);

  /// Rows; 0 before the first forward().
  int64_t batch_size() const;
  /// Tokens a row has read, padding included.
  int64_t length() const;
  /// The most tokens a row can read, where the export states it.
  std::optional<int64_t> max_length() const;

  /// Forgets everything; the next forward() may have another batch.
  void reset();
  /// Row i becomes what row `rows[i]` was; rows may repeat, the batch becomes as large as `rows`.
  void reorder(std::span<const int64_t> rows);
  /// Forgets all tokens after the first `length`.
  void crop(int64_t length);
  /// A session with the same contents that goes its own way.
  GenerationSession copy() const;

  /// Views of the keys and values by leaf name, [batch, heads, slots, head size], valid until the
  /// session changes. The address of a static cache stays the same as long as the batch does.
  std::vector<std::pair<std::string, Tensor>> cache() const;
  /// Time spent inside the runtime so far; what forward() took beyond it is Slipway's own.
  double runtime_seconds() const;

 private:
  explicit GenerationSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway

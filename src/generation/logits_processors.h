// What changes the scores of a step before a token is chosen: repetition, n-grams, shortest length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generation/generation_plan.h"

namespace slipway {

/// The reference's processors for greedy, sampling and beam search, in its order. Keeps scratch of
/// the vocabulary's size between calls; used by one thread at a time.
class LogitsProcessors {
 public:
  explicit LogitsProcessors(const GenerationPlan& plan) : plan_(plan) {}

  /// Whether apply() leaves the scores of a row of this length as they are.
  bool is_idle(int64_t length) const;
  /// Changes the scores of the token after `ids`: a whole row, its first `padding` ids masked.
  /// - repetition_penalty: scores of ids in the row, padding left out, are divided by it, negative
  ///   ones multiplied.
  /// - no_repeat_ngram_size n: ids that would end an n-gram that the row, padding included, has
  ///   already become -infinity.
  /// - below min_length the end tokens become -infinity.
  void apply(std::span<const int64_t> ids, int64_t padding, std::span<float> scores);

 private:
  void penalize_repetition(std::span<const int64_t> ids, std::span<float> scores);

  GenerationPlan plan_;
  std::vector<uint32_t> seen_;  ///< by id: the last call that met it
  uint32_t call_ = 0;
};

}  // namespace slipway

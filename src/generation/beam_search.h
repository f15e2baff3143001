// The bookkeeping of beam search for one prompt, apart from any model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generation/generation_plan.h"

namespace slipway {

/// A continuation of a running beam by one token; `score` is the sum of log-probabilities.
struct BeamStep {
  int64_t beam = 0;
  int64_t token = 0;
  float score = 0;
  bool operator==(const BeamStep&) const = default;
};

/// New ids and their score: the sum while running, divided by the length penalty when finished.
struct Hypothesis {
  std::vector<int64_t> ids;
  float score = 0;
  bool is_finished = false;
};

/// The beams of one prompt. Scores are float32 and combined as in the reference: a continuation
/// that is out of the question has 1e9 taken off.
class Beams {
 public:
  explicit Beams(const GenerationPlan& plan);

  /// The number of continuations that advance() takes: num_beams times the number of end tokens
  /// plus one, and at least twice num_beams.
  int64_t step_count() const { return step_count_; }
  const std::vector<Hypothesis>& running() const { return running_; }

  /// Takes the best continuations in falling order (sampled ones in the order of their drawing) and
  /// whether each `ends` a row. Those that do not end go on as the running beams; of those that
  /// end, the ones among the first num_beams compete for the finished places. Returns for each
  /// running beam the beam that it continues.
  std::vector<int64_t> advance(std::span<const BeamStep> steps, const std::vector<bool>& ends);

  /// Whether running beams may still change the finished ones: by early_stopping.
  bool can_improve() const { return can_improve_; }
  /// Whether all num_beams places are taken.
  bool is_full() const;
  /// Best first; a place not taken has no ids.
  const std::vector<Hypothesis>& finished() const { return finished_; }

 private:
  void update_finished(std::span<const BeamStep> steps, const std::vector<bool>& ends);
  void update_can_improve();

  GenerationPlan plan_;
  size_t count_;
  int64_t step_count_;
  std::vector<Hypothesis> running_, finished_;
  int64_t made_ = 0;  ///< new ids of each running beam
  bool can_improve_ = true;
};

/// The `count` best of all continuations: `scores` [beams * vocabulary] are the sums. The lower
/// beam, then the lower token comes first among equals.
std::vector<BeamStep> best_steps(std::span<const float> scores, int64_t vocabulary, int64_t count);

}  // namespace slipway

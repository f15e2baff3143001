// Which tokens sampling may choose, and the choice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generation/generation_plan.h"
#include "generation/random_stream.h"

namespace slipway {

struct Candidate {
  int64_t id = 0;
  float score = 0;
  bool operator==(const Candidate&) const = default;
};

/// Temperature, top_k, top_p and min_p in this order, as in the reference. Keeps scratch of the
/// vocabulary's size between calls; used by one thread at a time.
class Sampler {
 public:
  /// At least one token stays possible; with beams one more than there are end tokens (two without
  /// any), so that a beam can always go on.
  explicit Sampler(const GenerationPlan& plan);

  /// The ids that stay possible with their scores divided by the temperature, ids rising; the view
  /// is valid until the next call.
  /// - top_k: the k highest, and all that equal the lowest of them.
  /// - top_p: the likeliest tokens until their probabilities sum up to p; the higher id first among
  ///   equals.
  /// - min_p: tokens at least min_p times as likely as the likeliest.
  /// Scores of -infinity are impossible. Throws Error{kInvalid} naming the row for scores that are
  /// NaN or +infinity, and when no token is possible.
  std::span<const Candidate> candidates(std::span<const float> scores, int64_t row);

  /// One of `candidates`, each with the probability that its score gives it.
  static int64_t choose(std::span<const Candidate> candidates, RandomStream& random);

 private:
  void keep_top_p();
  void keep_min_p();

  double temperature_, top_p_, min_p_;
  size_t top_k_, min_kept_;
  std::vector<Candidate> kept_;
  std::vector<float> best_;
};

}  // namespace slipway

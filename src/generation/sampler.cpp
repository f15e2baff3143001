// Which tokens sampling may choose, and the choice.
#include "generation/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "generation/logits.h"

namespace slipway {
namespace {

bool is_better(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}
bool is_worse(const Candidate& a, const Candidate& b) { return is_better(b, a); }

float highest(std::span<const Candidate> candidates) {
  float best = candidates[0].score;
  for (const Candidate& c : candidates) best = std::max(best, c.score);
  return best;
}

double weight(const Candidate& c, float best) {
  return std::exp(static_cast<double>(c.score) - static_cast<double>(best));
}

void sort_by_id(std::vector<Candidate>& kept) {
  std::sort(kept.begin(), kept.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
}

}  // namespace

Sampler::Sampler(const GenerationPlan& plan)
    : temperature_(plan.temperature),
      top_p_(plan.top_p),
      min_p_(plan.min_p),
      top_k_(static_cast<size_t>(plan.top_k)),
      min_kept_(plan.num_beams > 1 ? std::max<size_t>(2, plan.eos.size() + 1) : 1) {
  if (top_k_ > 0) top_k_ = std::max(top_k_, min_kept_);
}

std::span<const Candidate> Sampler::candidates(std::span<const float> scores, int64_t row) {
  // The temperature does not change who is among the top k.
  float least = -INFINITY;
  if (top_k_ > 0 && top_k_ < scores.size()) {
    best_.resize(top_k_);
    std::partial_sort_copy(scores.begin(), scores.end(), best_.begin(), best_.end(),
                           std::greater<>());
    least = best_.back();
  }
  kept_.clear();
  const auto temperature = static_cast<float>(temperature_);
  for (size_t i = 0; i < scores.size(); ++i) {
    const float v = scores[i];
    if (v != v) throw nan_error(row);
    if (v >= least && v > -INFINITY) kept_.push_back({static_cast<int64_t>(i), v / temperature});
  }
  if (kept_.empty() || !std::isfinite(highest(kept_)))
    throw Error(kInvalid, fmt::format("[generate] no token is possible in row {}: {}", row,
                                      kept_.empty() ? "all are forbidden; loosen "
                                                      "no_repeat_ngram_size or min_new_tokens"
                                                    : "a score is infinite; raise temperature or "
                                                      "export the model as float32"));
  if (top_p_ < 1) keep_top_p();
  if (min_p_ > 0) keep_min_p();
  return kept_;
}

/// A heap gives the likeliest first, so that only those that stay are ordered. Among equals the
/// reference's sort keeps the higher id.
void Sampler::keep_top_p() {
  const auto is_later = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.id < b.id;
  };
  const float best = highest(kept_);
  double total = 0;
  for (const Candidate& c : kept_) total += weight(c, best);
  std::make_heap(kept_.begin(), kept_.end(), is_later);
  double sum = 0;
  auto end = kept_.end();
  for (size_t count = 0; end != kept_.begin() && (count < min_kept_ || sum < top_p_ * total);
       ++count) {
    std::pop_heap(kept_.begin(), end, is_later);
    sum += weight(*--end, best);
  }
  kept_.erase(kept_.begin(), end);
  sort_by_id(kept_);
}

void Sampler::keep_min_p() {
  const float best = highest(kept_);
  const auto is_likely = [&](const Candidate& c) { return weight(c, best) >= min_p_; };
  const auto likely = static_cast<size_t>(std::count_if(kept_.begin(), kept_.end(), is_likely));
  if (likely >= min_kept_) {
    std::erase_if(kept_, [&](const Candidate& c) { return !is_likely(c); });
    return;
  }
  const size_t count = std::min(min_kept_, kept_.size());
  std::partial_sort(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count), kept_.end(),
                    is_better);
  kept_.resize(count);
  sort_by_id(kept_);
}

int64_t Sampler::choose(std::span<const Candidate> candidates, RandomStream& random) {
  const float best = highest(candidates);
  double total = 0;
  for (const Candidate& c : candidates) total += weight(c, best);
  double left = random.uniform() * total;
  for (const Candidate& c : candidates) {
    left -= weight(c, best);
    if (left < 0) return c.id;
  }
  return std::max_element(candidates.begin(), candidates.end(), is_worse)->id;  // rounding
}

}  // namespace slipway

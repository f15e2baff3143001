// The bookkeeping of beam search for one prompt, apart from any model.
#include "generation/beam_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "slipway/error.h"

namespace slipway {
namespace {

constexpr float kOut = -1.0e9F;

/// The places of the `count` highest scores, falling; the earlier first among equals.
std::vector<size_t> highest(const std::vector<float>& scores, size_t count) {
  std::vector<size_t> places(scores.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  places.resize(count);
  return places;
}

}  // namespace

Beams::Beams(const GenerationPlan& plan)
    : plan_(plan),
      count_(static_cast<size_t>(plan.num_beams)),
      step_count_(std::max<int64_t>(2, 1 + std::ssize(plan.eos)) * plan.num_beams),
      running_(count_),
      finished_(count_) {
  // Only the first beam counts at the start, or all would make the same tokens.
  for (size_t i = 1; i < count_; ++i) running_[i].score = kOut;
  for (Hypothesis& place : finished_) place.score = kOut;
}

bool Beams::is_full() const {
  return std::all_of(finished_.begin(), finished_.end(),
                     [](const Hypothesis& place) { return place.is_finished; });
}

std::vector<int64_t> Beams::advance(std::span<const BeamStep> steps,
                                    const std::vector<bool>& ends) {
  SLIPWAY_ASSERT(steps.size() >= 2 * count_ && ends.size() == steps.size());
  std::vector<float> scores;
  for (size_t i = 0; i < steps.size(); ++i)
    scores.push_back(steps[i].score + (ends[i] ? kOut : 0.0F));
  std::vector<Hypothesis> next;
  std::vector<int64_t> sources;
  for (const size_t i : highest(scores, count_)) {
    const auto beam = static_cast<size_t>(steps[i].beam);
    next.push_back({running_[beam].ids, scores[i], false});
    next.back().ids.push_back(steps[i].token);
    sources.push_back(steps[i].beam);
  }
  update_finished(steps, ends);
  running_ = std::move(next);
  ++made_;
  update_can_improve();
  return sources;
}

void Beams::update_finished(std::span<const BeamStep> steps, const std::vector<bool>& ends) {
  const bool closed = !can_improve_ || (plan_.early_stopping == EarlyStopping::kTrue && is_full());
  const auto divisor =
      static_cast<float>(std::pow(static_cast<double>(made_ + 1), plan_.length_penalty));
  std::vector<Hypothesis> all = std::move(finished_);
  for (size_t i = 0; i < count_; ++i) {
    if (closed || !ends[i]) continue;
    all.push_back(
        {running_[static_cast<size_t>(steps[i].beam)].ids, steps[i].score / divisor, true});
    all.back().ids.push_back(steps[i].token);
  }
  std::vector<float> scores;
  for (const Hypothesis& one : all) scores.push_back(one.score);
  finished_.clear();
  for (const size_t i : highest(scores, count_)) finished_.push_back(std::move(all[i]));
}

/// The best that the first running beam can reach against the worst that is finished.
void Beams::update_can_improve() {
  const bool to_the_end = plan_.early_stopping == EarlyStopping::kNever && plan_.length_penalty > 0;
  const int64_t length = to_the_end ? plan_.max_new_tokens : made_;
  const float best = running_[0].score / static_cast<float>(std::pow(static_cast<double>(length),
                                                                     plan_.length_penalty));
  const float worst = is_full() ? finished_.back().score : kOut;
  can_improve_ = can_improve_ && best > worst;
}

std::vector<BeamStep> best_steps(std::span<const float> scores, int64_t vocabulary, int64_t count) {
  const auto is_better = [](const BeamStep& a, const BeamStep& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
  };
  // A heap whose front is the worst of the best; later places never displace their equals.
  std::vector<BeamStep> best;
  const auto most = static_cast<size_t>(std::min<int64_t>(count, std::ssize(scores)));
  for (size_t i = 0; i < scores.size(); ++i) {
    if (best.size() == most && !(scores[i] > best.front().score)) continue;
    if (best.size() == most) {
      std::pop_heap(best.begin(), best.end(), is_better);
      best.pop_back();
    }
    const auto place = static_cast<int64_t>(i);
    best.push_back({place / vocabulary, place % vocabulary, scores[i]});
    std::push_heap(best.begin(), best.end(), is_better);
  }
  std::sort_heap(best.begin(), best.end(), is_better);
  return best;
}

}  // namespace slipway

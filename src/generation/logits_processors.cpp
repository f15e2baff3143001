// What changes the scores of a step before a token is chosen: repetition, n-grams, shortest length.
#include "generation/logits_processors.h"

#include <algorithm>
#include <limits>

namespace slipway {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

void forbid(int64_t id, std::span<float> scores) {
  if (id >= 0 && id < std::ssize(scores)) scores[static_cast<size_t>(id)] = kImpossible;
}

void forbid_repeated_ngrams(std::span<const int64_t> ids, size_t n, std::span<float> scores) {
  if (ids.size() < n) return;
  const auto tail = ids.last(n - 1);
  for (size_t begin = 0; begin + n <= ids.size(); ++begin)
    if (std::equal(tail.begin(), tail.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin)))
      forbid(ids[begin + n - 1], scores);
}

}  // namespace

bool LogitsProcessors::is_idle(int64_t length) const {
  const bool ends_forbidden = length < plan_.min_length && !plan_.eos.empty();
  return plan_.repetition_penalty == 1 && plan_.no_repeat_ngram_size == 0 && !ends_forbidden;
}

void LogitsProcessors::apply(std::span<const int64_t> ids, int64_t padding,
                             std::span<float> scores) {
  if (plan_.repetition_penalty != 1)
    penalize_repetition(ids.subspan(static_cast<size_t>(padding)), scores);
  if (plan_.no_repeat_ngram_size > 0)
    forbid_repeated_ngrams(ids, static_cast<size_t>(plan_.no_repeat_ngram_size), scores);
  if (std::ssize(ids) < plan_.min_length)
    for (const int64_t id : plan_.eos) forbid(id, scores);
}

void LogitsProcessors::penalize_repetition(std::span<const int64_t> ids, std::span<float> scores) {
  seen_.resize(scores.size(), 0);
  if (++call_ == 0) {  // the counter went round
    std::ranges::fill(seen_, 0U);
    call_ = 1;
  }
  const auto penalty = static_cast<float>(plan_.repetition_penalty);
  for (const int64_t id : ids) {
    if (id < 0 || id >= std::ssize(scores)) continue;
    const auto at = static_cast<size_t>(id);
    if (seen_[at] == call_) continue;
    seen_[at] = call_;
    scores[at] = scores[at] < 0 ? scores[at] * penalty : scores[at] / penalty;
  }
}

}  // namespace slipway

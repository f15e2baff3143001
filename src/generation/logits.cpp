// Logits of a forward call, and single passes over the scores of a row.
#include "generation/logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace slipway {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr const char* kNoNumbers =
    "the weights hold NaN or infinity, or the computation overflows in the export's dtype; if it "
    "is a half type, export the model as float32";

struct Peak {
  float value = kLowest;
  bool has_nan = false;
};

/// In lanes, so that the compiler can use vector instructions without changing the result.
Peak peak_of(std::span<const float> scores) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> best;
  std::array<int32_t, kLanes> nan{};
  best.fill(kLowest);
  const float* at = scores.data();
  const size_t whole = scores.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float v = at[i + lane];
      best[lane] = v > best[lane] ? v : best[lane];
      nan[lane] |= v != v ? 1 : 0;
    }
  Peak peak;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    peak.value = std::max(peak.value, best[lane]);
    peak.has_nan = peak.has_nan || nan[lane] != 0;
  }
  for (const float v : scores.subspan(whole)) {
    peak.value = v > peak.value ? v : peak.value;
    peak.has_nan = peak.has_nan || std::isnan(v);
  }
  return peak;
}

}  // namespace

Error nan_error(int64_t row) {
  return Error(kInvalid, fmt::format("[generate] the logits of row {} hold NaN, need numbers; {}",
                                     row, kNoNumbers));
}

Logits::Logits(Tensor logits, int64_t batch, int64_t positions) : logits_(std::move(logits)) {
  if (logits_.rank() != 3 || logits_.dtype() != DType::kF32 || logits_.dim(0) != batch ||
      logits_.dim(1) != positions || logits_.numel() == 0)
    throw Error(
        kInternal,
        fmt::format("[generate] the decoder gave logits {} {}, need float32 [{}, "
                    "{}, vocabulary]; please report this",
                    torch_name(logits_.dtype()), shape_string(logits_.shape()), batch, positions));
}

std::span<const float> Logits::at(int64_t row, int64_t position) const {
  const auto width = static_cast<size_t>(vocabulary());
  const auto index = static_cast<size_t>(row * logits_.dim(1) + position);
  return logits_.values<float>().subspan(index * width, width);
}

int64_t best_token(std::span<const float> scores, int64_t row) {
  const Peak peak = peak_of(scores);
  if (peak.has_nan) throw nan_error(row);
  return std::find(scores.begin(), scores.end(), peak.value) - scores.begin();
}

std::vector<std::pair<int64_t, float>> top_tokens(std::span<const float> scores, int64_t count) {
  std::vector<int64_t> ids(scores.size());
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const auto end = ids.begin() + std::clamp<int64_t>(count, 0, std::ssize(scores));
  const auto at = [&](int64_t id) {  // NaN sorts last, so that the order is total
    const float v = scores[static_cast<size_t>(id)];
    return std::isnan(v) ? kLowest : v;
  };
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](int64_t a, int64_t b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
  std::vector<std::pair<int64_t, float>> top;
  for (auto id = ids.begin(); id != end; ++id)
    top.emplace_back(*id, scores[static_cast<size_t>(*id)]);
  return top;
}

void log_softmax(std::span<const float> scores, std::span<float> out, int64_t row) {
  SLIPWAY_ASSERT(scores.size() == out.size());
  const Peak peak = peak_of(scores);
  if (peak.has_nan) throw nan_error(row);
  if (!std::isfinite(peak.value))
    throw Error(
        kInvalid,
        fmt::format("[generate] the highest logit of row {} is {}, need a finite number; {}", row,
                    peak.value, kNoNumbers));
  double sum = 0;
  for (const float v : scores) sum += std::exp(v - peak.value);
  const auto log_sum = static_cast<float>(std::log(sum));
  for (size_t i = 0; i < scores.size(); ++i) out[i] = scores[i] - peak.value - log_sum;
}

}  // namespace slipway

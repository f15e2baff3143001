// Rotary frequencies: each kind's formula, rounded where the reference rounds.
#include "checkpoint/rope_frequencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "slipway/error.h"

namespace slipway {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// base^(2i / dim) for each pair i.
std::vector<float> periods(double base, int64_t dim) {
  std::vector<float> out;
  for (int64_t i = 0; i < dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dim);
    out.push_back(std::pow(static_cast<float>(base), exponent));
  }
  return out;
}

std::vector<float> inverse(std::vector<float> v) {
  for (float& x : v) x = 1.0f / x;
  return v;
}

std::vector<float> linear(const RopeParameters& rope, int64_t dim) {
  auto freq = inverse(periods(rope.rope_theta, dim));
  for (float& f : freq) f /= static_cast<float>(rope.factor);
  return freq;
}

std::vector<float> dynamic(const RopeParameters& rope, int64_t dim, int64_t max_positions,
                           int64_t seq_len) {
  if (dim <= 2)
    throw Error(kInvalid,
                fmt::format("[rope] dynamic needs more than 2 rotary dimensions, got {}", dim));
  const auto length = static_cast<double>(std::max(seq_len, max_positions));
  const double stretch =
      rope.factor * length / static_cast<double>(max_positions) - (rope.factor - 1);
  const double exponent = static_cast<double>(dim) / static_cast<double>(dim - 2);
  return inverse(periods(rope.rope_theta * std::pow(stretch, exponent), dim));
}

double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

/// The dimension whose wave turns `rotations` times within the original length.
double yarn_dimension(double rotations, int64_t dim, const RopeParameters& rope) {
  const auto length = static_cast<double>(*rope.original_max_position_embeddings);
  return static_cast<double>(dim) * std::log(length / (rotations * 2 * kPi)) /
         (2 * std::log(rope.rope_theta));
}

std::vector<float> yarn(const RopeParameters& rope, int64_t dim) {
  if (dim % 2 != 0)
    throw Error(kInvalid,
                fmt::format("[rope] yarn needs an even number of rotary dimensions, got {}", dim));
  double low = yarn_dimension(rope.beta_fast, dim, rope);
  double high = yarn_dimension(rope.beta_slow, dim, rope);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;

  auto freq = periods(rope.rope_theta, dim);
  for (size_t i = 0; i < freq.size(); ++i) {
    const float extrapolated = 1.0f / freq[i];
    const float interpolated = 1.0f / (static_cast<float>(rope.factor) * freq[i]);
    const float ramp = std::clamp(
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f,
        1.0f);
    const float keep = 1.0f - ramp;
    const float a = interpolated * (1.0f - keep);
    const float b = extrapolated * keep;
    freq[i] = a + b;
  }
  return freq;
}

double yarn_attention(const RopeParameters& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.mscale && rope.mscale_all_dim)
    return yarn_scale(rope.factor, *rope.mscale) / yarn_scale(rope.factor, *rope.mscale_all_dim);
  return yarn_scale(rope.factor, 1);
}

std::vector<float> llama3(const RopeParameters& rope, int64_t dim) {
  const auto original = static_cast<double>(*rope.original_max_position_embeddings);
  const auto longest = static_cast<float>(original / rope.low_freq_factor);
  const auto shortest = static_cast<float>(original / rope.high_freq_factor);
  const auto factor = static_cast<float>(rope.factor);
  auto freq = inverse(periods(rope.rope_theta, dim));
  for (float& f : freq) {
    const float wave = (1.0f / f) * static_cast<float>(2 * kPi);
    const float scaled = wave > longest ? f / factor : f;
    if (wave < shortest || wave > longest) {
      f = scaled;
      continue;
    }
    const float turns = (1.0f / wave) * static_cast<float>(original);
    const float smooth = (turns - static_cast<float>(rope.low_freq_factor)) /
                         static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
    const float a = (1.0f - smooth) * scaled / factor;
    const float b = smooth * scaled;
    f = a + b;
  }
  return freq;
}

std::vector<float> longrope(const RopeParameters& rope, int64_t dim, bool beyond_original) {
  auto freq = periods(rope.rope_theta, dim);
  for (const auto* list : {&rope.short_factor, &rope.long_factor})
    if (list->size() != freq.size())
      throw Error(kInvalid, fmt::format("[rope] longrope: {} has {} values, need {} for {} rotary "
                                        "dimensions",
                                        list == &rope.short_factor ? "short_factor" : "long_factor",
                                        list->size(), freq.size(), dim));
  const auto& factors = beyond_original ? rope.long_factor : rope.short_factor;
  for (size_t i = 0; i < freq.size(); ++i)
    freq[i] = 1.0f / (static_cast<float>(factors[i]) * freq[i]);
  return freq;
}

double longrope_attention(const RopeParameters& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.factor <= 1) return 1.0;
  const auto original = static_cast<double>(*rope.original_max_position_embeddings);
  if (original <= 1)
    throw Error(kInvalid,
                "[rope] longrope: original_max_position_embeddings is 1, need more, or state "
                "attention_factor");
  return std::sqrt(1 + std::log(rope.factor) / std::log(original));
}

}  // namespace

int64_t rotary_dim(const RopeParameters& rope, int64_t head_dim) {
  const auto dim = static_cast<int64_t>(static_cast<double>(head_dim) * rope.partial_rotary_factor);
  if (dim < 1 || dim > head_dim || dim > (int64_t{1} << 24))
    throw Error(kInvalid,
                fmt::format("[rope] head_dim {} times partial_rotary_factor {} gives {} rotary "
                            "dimensions, need 1 to head_dim",
                            head_dim, rope.partial_rotary_factor, dim));
  return dim;
}

RopeFrequencies rope_frequencies(const RopeParameters& rope, int64_t head_dim,
                                 int64_t max_position_embeddings, std::optional<int64_t> seq_len) {
  const int64_t dim = rotary_dim(rope, head_dim);
  const std::string& type = rope.rope_type;
  if (type == "default") return {inverse(periods(rope.rope_theta, dim)), 1.0};
  if (type == "linear") return {linear(rope, dim), 1.0};
  if (type == "dynamic") {
    if (max_position_embeddings < 1)
      throw Error(kInvalid,
                  fmt::format("[rope] dynamic: max_position_embeddings is {}, need 1 or more",
                              max_position_embeddings));
    return {dynamic(rope, dim, max_position_embeddings, seq_len.value_or(max_position_embeddings)),
            1.0};
  }
  SLIPWAY_ASSERT(rope.original_max_position_embeddings.has_value());
  if (type == "yarn") return {yarn(rope, dim), yarn_attention(rope)};
  if (type == "llama3") return {llama3(rope, dim), 1.0};
  SLIPWAY_ASSERT(type == "longrope");
  const bool beyond = seq_len.value_or(0) > *rope.original_max_position_embeddings;
  return {longrope(rope, dim, beyond), longrope_attention(rope)};
}

}  // namespace slipway

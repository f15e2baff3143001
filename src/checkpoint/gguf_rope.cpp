// Rotary settings from GGUF metadata, and llama3's from its table of factors.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_quant.h"

namespace slipway {
namespace {

// Every published llama3 checkpoint has these; a file does not state them.
constexpr double kLowFactor = 1.0, kHighFactor = 4.0;
constexpr int64_t kOriginalLength = 8192;

[[noreturn]] void unsupported(const GgufFile& file, const std::string& problem) {
  throw Error(kUnsupported, fmt::format("[gguf] {}: {}", file.where(), problem));
}

std::optional<int64_t> original_length(const GgufFile& file) {
  return file.metadata().find_int(gguf_key(file, "rope.scaling.original_context_length"), 1,
                                  INT32_MAX);
}

/// What a llama3 scaling by `factor` divides the frequency of pair `i` by.
double llama3_divisor(int64_t i, int64_t head_dim, double theta, double factor, double original) {
  const double exponent = static_cast<double>(2 * i) / static_cast<double>(head_dim);
  const double turns = original / (2 * std::numbers::pi * std::pow(theta, exponent));
  if (turns > kHighFactor) return 1.0;
  if (turns < kLowFactor) return factor;
  const double smooth = (turns - kLowFactor) / (kHighFactor - kLowFactor);
  return 1.0 / ((1.0 - smooth) / factor + smooth);
}

/// The table holds one divisor a pair. Adds the llama3 settings that make the same table; a table
/// of ones changes nothing.
void add_llama3(const GgufFile& file, const GgufTensor& table, int64_t head_dim, double theta,
                Json& rope) {
  if (numel(table.shape) != head_dim / 2)
    throw Error(kInvalid, fmt::format("[gguf] {}: rope_freqs.weight: got {} factors, need {} for a "
                                      "head size of {}",
                                      file.where(), numel(table.shape), head_dim / 2, head_dim));
  // Read at once, so the caller's reference to the file outlives the lazy tensor.
  const auto borrowed = std::shared_ptr<const GgufFile>(std::shared_ptr<void>(), &file);
  const Tensor divisors = materialize(*gguf_tensor(borrowed, table));
  const auto values = divisors.values<float>();
  const double factor = *std::max_element(values.begin(), values.end());
  const auto original = static_cast<double>(original_length(file).value_or(kOriginalLength));
  bool same = std::isfinite(factor) && factor >= 1.0;
  for (size_t i = 0; same && i < values.size(); ++i) {
    const double need = llama3_divisor(static_cast<int64_t>(i), head_dim, theta, factor, original);
    same = std::abs(values[i] - need) <= 1e-4 * need;
  }
  if (!same)
    unsupported(file, fmt::format("rope_freqs.weight is not the table of a llama3 scaling with low "
                                  "factor {}, high factor {} and original length {}",
                                  kLowFactor, kHighFactor, original));
  if (factor == 1.0) return;
  if (rope["rope_type"] != "default")
    unsupported(file, "rope_freqs.weight and " + gguf_key(file, "rope.scaling.type") +
                          " both scale the rotary positions");
  rope["rope_type"] = "llama3";
  rope["factor"] = factor;
  rope["low_freq_factor"] = kLowFactor;
  rope["high_freq_factor"] = kHighFactor;
  rope["original_max_position_embeddings"] = static_cast<int64_t>(original);
}

void add_scaling(const GgufFile& file, Json& rope) {
  const GgufMetadata& metadata = file.metadata();
  const auto key = [&](std::string_view k) {
    return gguf_key(file, "rope.scaling." + std::string(k));
  };
  const std::string old_key = gguf_key(file, "rope.scale_linear");
  const auto stated = metadata.find_double(key("factor"));
  const double factor = stated ? *stated : metadata.find_double(old_key).value_or(1.0);
  const auto type = metadata.find_string(key("type"));
  // A factor alone means linear; zero means none.
  const bool scales = factor != 0.0 && factor != 1.0;
  if (type ? *type == "none" : !scales) return;
  const std::string_view kind = type.value_or("linear");
  if (kind != "linear" && kind != "yarn")
    unsupported(file,
                fmt::format("{}: got {}, supported: none, linear, yarn", key("type"), quote(kind)));
  if (!(factor >= 1.0))
    throw Error(kInvalid, fmt::format("[gguf] {}: {}: got {}, need at least 1", file.where(),
                                      key("factor"), factor));
  rope["rope_type"] = std::string(kind);
  rope["factor"] = factor;
  if (kind == "linear") return;
  for (const char* more :
       {"attn_factor", "yarn_log_multiplier", "yarn_ext_factor", "yarn_attn_factor"}) {
    const auto value = metadata.find_double(key(more));
    if (value && *value != 1.0)
      unsupported(file, fmt::format("{}: got {}, which is not supported", key(more), *value));
  }
  if (const auto length = original_length(file)) rope["original_max_position_embeddings"] = *length;
  if (const auto fast = metadata.find_double(key("yarn_beta_fast"))) rope["beta_fast"] = *fast;
  if (const auto slow = metadata.find_double(key("yarn_beta_slow"))) rope["beta_slow"] = *slow;
}

}  // namespace

Json gguf_rope_parameters(const GgufFile& file, int64_t head_dim) {
  const std::string key = gguf_key(file, "rope.freq_base");
  const double theta = file.metadata().find_double(key).value_or(10000.0);
  if (!(theta > 0.0))
    throw Error(kInvalid, fmt::format("[gguf] {}: {}: got {}, need a positive number", file.where(),
                                      key, theta));
  Json rope;
  rope["rope_theta"] = theta;
  rope["rope_type"] = "default";
  add_scaling(file, rope);
  if (const GgufTensor* table = file.find("rope_freqs.weight"))
    add_llama3(file, *table, head_dim, theta, rope);
  return rope;
}

}  // namespace slipway

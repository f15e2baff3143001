// Sentence embeddings: the token vectors of each row as one vector.
#include "generation/pooling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/convert.h"
#include "base/json.h"
#include "base/output.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.npos, end) == 0;
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool is_set(const Json& config, const std::string& key, const fs::path& path) {
  const auto at = config.find(key);
  if (at == config.end() || at->is_null()) return false;
  if (!at->is_boolean())
    throw Error(kInvalid, fmt::format("[embed] {}: {} is {}, need true or false", display(path),
                                      key, describe(*at)));
  return at->get<bool>();
}

/// "mean", "cls", or the file's own words for anything else.
std::string read_pooling(const fs::path& path) {
  const Json config = parse_json_file(path);
  if (!config.is_object())
    throw Error(kInvalid,
                fmt::format("[embed] {} is {}, need an object", display(path), describe(config)));
  std::vector<std::string> modes;
  for (const auto& [key, value] : config.items())
    if (key.rfind("pooling_mode_", 0) == 0 && is_set(config, key, path)) modes.push_back(key);
  if (const std::string mode = text_of(config, "pooling_mode"); !mode.empty())
    modes.push_back(mode);
  if (modes.empty()) return "mean";
  if (modes == std::vector<std::string>{"pooling_mode_mean_tokens"}) return "mean";
  if (modes == std::vector<std::string>{"pooling_mode_cls_token"}) return "cls";
  return fmt::format("{}", fmt::join(modes, ", "));
}

}  // namespace

Pooling pooling_named(std::string_view name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  throw Error(kUnsupported,
              fmt::format("[embed] the way of pooling is {}; supported are mean and cls, choose "
                          "one with --pooling",
                          quote(name)));
}

PoolingSettings PoolingSettings::from_directory(const fs::path& directory) {
  PoolingSettings settings;
  std::error_code error;
  if (const fs::path path = directory / "modules.json"; fs::exists(path, error)) {
    const Json modules = parse_json_file(path);
    if (!modules.is_array())
      throw Error(kInvalid,
                  fmt::format("[embed] {} is {}, need a list", display(path), describe(modules)));
    for (const Json& module : modules) {
      if (!module.is_object()) continue;
      const std::string type = text_of(module, "type"), folder = text_of(module, "path");
      settings.normalize = settings.normalize || ends_with(type, ".Normalize");
      const bool plain = !folder.empty() && folder.find_first_of("/\\") == folder.npos &&
                         folder != "." && folder != "..";
      if (!ends_with(type, ".Pooling") || !plain) continue;
      const fs::path config = directory / fs::path(folder) / "config.json";
      if (fs::exists(config, error)) settings.pooling = read_pooling(config);
    }
  }
  if (const fs::path path = directory / "sentence_bert_config.json"; fs::exists(path, error)) {
    const Json config = parse_json_file(path);
    const auto at = config.find("max_seq_length");
    if (config.is_object() && at != config.end() && !at->is_null()) {
      if (!at->is_number_integer() || *at < 1 || *at > (int64_t{1} << 40))
        throw Error(kInvalid, fmt::format("[embed] {}: max_seq_length is {}, need a positive "
                                          "integer",
                                          display(path), describe(*at)));
      settings.max_length = at->get<int64_t>();
    }
  }
  return settings;
}

Tensor pool(const Tensor& token_vectors, const Tensor& attention_mask, Pooling pooling) {
  const Shape& shape = token_vectors.shape();
  if (shape.size() != 3 || !is_floating(token_vectors.dtype()) ||
      attention_mask.shape() != Shape{shape[0], shape[1]})
    throw Error(kInvalid, fmt::format("[embed] got token vectors {} {} and a mask {}, need floats "
                                      "[batch, sequence, width] and [batch, sequence]",
                                      torch_name(token_vectors.dtype()), shape_string(shape),
                                      shape_string(attention_mask.shape())));
  const auto mask = attention_mask.values<int64_t>();
  const int64_t width = shape[2];
  Tensor result(DType::kF32, {shape[0], width});
  std::vector<float> vector(static_cast<size_t>(width));
  std::vector<double> sums(vector.size());
  for (int64_t row = 0; row < shape[0]; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    int64_t tokens = 0;
    for (int64_t column = 0; column < shape[1]; ++column) {
      const int64_t at = row * shape[1] + column;
      if (mask[static_cast<size_t>(at)] == 0) continue;
      if (++tokens > 1 && pooling == Pooling::kCls) break;
      convert(token_vectors.dtype(),
              token_vectors.data() + at * width * itemsize(token_vectors.dtype()), DType::kF32,
              reinterpret_cast<std::byte*>(vector.data()), width);
      for (size_t i = 0; i < vector.size(); ++i) sums[i] += static_cast<double>(vector[i]);
    }
    const double count = pooling == Pooling::kMean ? std::max<double>(1, tokens) : 1;
    const auto out = result.mutable_values<float>().subspan(static_cast<size_t>(row * width));
    for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<float>(sums[i] / count);
  }
  return result;
}

Tensor l2_normalize(const Tensor& rows) {
  Tensor result = rows.clone();
  const auto width = static_cast<size_t>(rows.dim(1));
  const auto values = result.mutable_values<float>();
  for (size_t begin = 0; width > 0 && begin < values.size(); begin += width) {
    double squares = 0;
    for (size_t i = begin; i < begin + width; ++i)
      squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    if (squares == 0) continue;
    const double length = std::sqrt(squares);
    for (size_t i = begin; i < begin + width; ++i)
      values[i] = static_cast<float>(static_cast<double>(values[i]) / length);
  }
  return result;
}

}  // namespace slipway

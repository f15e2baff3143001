// What a graph's inputs may hold: value ranges of ids and size ranges of dimensions.
#include "runtime/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "slipway/error.h"

namespace slipway {
namespace {

using nlohmann::json;

std::map<std::string, Range> parse_ranges(const std::map<std::string, std::string>& metadata,
                                          const std::string& key, std::string_view where) {
  std::map<std::string, Range> ranges;
  const auto at = metadata.find(key);
  if (at == metadata.end()) return ranges;
  const json object = json::parse(at->second, nullptr, false);
  const auto malformed = [&](std::string_view what) {
    return Error(kInvalid, fmt::format("[{}] the metadata {} is wrong: {}; export the model again",
                                       where, key, what));
  };
  if (!object.is_object()) throw malformed("need a JSON object of [min, max]");
  for (const auto& [name, range] : object.items()) {
    const bool good = range.is_array() && range.size() == 2 && range[0].is_number_integer() &&
                      (range[1].is_number_integer() || range[1].is_null());
    if (!good) throw malformed(fmt::format("{} is {}, need [min, max]", name, range.dump()));
    Range parsed{range[0].get<int64_t>()};
    if (!range[1].is_null()) parsed.max = range[1].get<int64_t>();
    if (parsed.min > parsed.max) throw malformed(fmt::format("{} is {}", name, range.dump()));
    ranges[name] = parsed;
  }
  return ranges;
}

std::map<std::string, std::vector<int64_t>> parse_sizes(
    const std::map<std::string, std::string>& metadata, std::string_view where) {
  std::map<std::string, std::vector<int64_t>> sizes;
  const auto at = metadata.find("slipway.sizes");
  if (at == metadata.end()) return sizes;
  const json object = json::parse(at->second, nullptr, false);
  const auto is_size = [](const json& v) { return v.is_number_integer() && v.get<int64_t>() >= 0; };
  const auto is_shape = [&](const json& v) {
    return v.is_array() && std::all_of(v.begin(), v.end(), is_size);
  };
  if (!object.is_object() || !std::all_of(object.begin(), object.end(), is_shape))
    throw Error(kInvalid, fmt::format("[{}] the metadata slipway.sizes is {}, need a JSON object "
                                      "of lists of sizes; export the model again",
                                      where, at->second));
  for (const auto& [name, shape] : object.items()) sizes[name] = shape.get<std::vector<int64_t>>();
  return sizes;
}

}  // namespace

std::string Range::text() const {
  if (max == std::numeric_limits<int64_t>::max()) return fmt::format("at least {}", min);
  return fmt::format("{} to {}", min, max);
}

RunnerLimits RunnerLimits::from_metadata(const std::map<std::string, std::string>& metadata,
                                         std::string_view where) {
  RunnerLimits limits;
  limits.values = parse_ranges(metadata, "slipway.ranges", where);
  limits.dims = parse_ranges(metadata, "slipway.dims", where);
  limits.sizes = parse_sizes(metadata, where);
  return limits;
}

RunnerLimits RunnerLimits::merged(const RunnerLimits& other) const {
  RunnerLimits result = *this;
  result.values.insert(other.values.begin(), other.values.end());
  result.sizes.insert(other.sizes.begin(), other.sizes.end());
  result.dims.insert(other.dims.begin(), other.dims.end());
  if (!result.cache_heads) result.cache_heads = other.cache_heads;
  if (!result.max_positions) result.max_positions = other.max_positions;
  return result;
}

}  // namespace slipway

// What a graph's inputs may hold: value ranges of ids and size ranges of dimensions.
#include "runtime/limits.h"

#include <fmt/format.h>

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
  return limits;
}

RunnerLimits RunnerLimits::merged(const RunnerLimits& other) const {
  RunnerLimits result = *this;
  result.values.insert(other.values.begin(), other.values.end());
  result.dims.insert(other.dims.begin(), other.dims.end());
  if (!result.max_positions) result.max_positions = other.max_positions;
  return result;
}

}  // namespace slipway

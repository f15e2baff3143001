// Reading one JSON value of a configuration strictly.
#include "checkpoint/config_value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "slipway/error.h"

namespace slipway::config_value {

void fail(const Where& where, const Json& got, const std::string& need) {
  throw Error(kInvalid, fmt::format("[{}] {}: got {}, need {}", where.source, where.key,
                                    describe(got), need));
}

void fail_missing(const Where& where, const std::string& need) {
  throw Error(kInvalid, fmt::format("[{}] {}: absent, need {}", where.source, where.key, need));
}

int64_t integer(const Where& where, const Json& value, int64_t min, int64_t max) {
  const auto need = [&] { return fmt::format("an integer from {} to {}", min, max); };
  if (!value.is_number_integer()) fail(where, value, need());
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail(where, value, need());
  const auto v = value.get<int64_t>();
  if (v < min || v > max) fail(where, value, need());
  return v;
}

double number(const Where& where, const Json& value) {
  if (!value.is_number()) fail(where, value, "a number");
  const auto v = value.get<double>();
  if (!std::isfinite(v)) fail(where, value, "a finite number");
  return v;
}

bool boolean(const Where& where, const Json& value) {
  if (!value.is_boolean()) fail(where, value, "true or false");
  return value.get<bool>();
}

const std::string& text(const Where& where, const Json& value) {
  if (!value.is_string()) fail(where, value, "a text");
  return value.get_ref<const std::string&>();
}

std::vector<double> numbers(const Where& where, const Json& value) {
  if (!value.is_array() || value.empty()) fail(where, value, "a list of numbers");
  std::vector<double> out;
  out.reserve(value.size());
  for (const Json& item : value) out.push_back(number(where, item));
  return out;
}

}  // namespace slipway::config_value

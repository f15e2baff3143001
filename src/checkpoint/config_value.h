// Reading one JSON value of a configuration strictly; what is wrong is said with file and key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace slipway::config_value {

/// Where a value stands, for messages: the file (or section) and the key.
struct Where {
  std::string_view source;
  std::string_view key;
};

/// Throws Error{kInvalid}: "[source] key: got VALUE, need NEED".
[[noreturn]] void fail(const Where& where, const Json& got, const std::string& need);
[[noreturn]] void fail_missing(const Where& where, const std::string& need);

/// An integer written as one: 2.0 and "2" are refused.
int64_t integer(const Where& where, const Json& value, int64_t min, int64_t max);
/// A finite number.
double number(const Where& where, const Json& value);
bool boolean(const Where& where, const Json& value);
const std::string& text(const Where& where, const Json& value);
std::vector<double> numbers(const Where& where, const Json& value);

}  // namespace slipway::config_value

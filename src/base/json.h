// JSON from files that nobody vouches for, and JSON text as Python writes it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace slipway {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// What a document may cost. A file beyond a limit is refused, not cut.
struct JsonLimits {
  size_t max_bytes = size_t{16} << 20;
  size_t max_depth = 128;
  size_t max_values = size_t{1} << 21;
};

/// Parses a whole document (a byte order mark is skipped). Takes time linear in the text, also for
/// objects of many keys. Throws Error{kInvalid} that names `source`, the line and the column for
/// anything that is not JSON, NaN and Infinity included, for a key that appears twice in one
/// object, and for a document beyond the limits.
Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits = {});

/// parse_json over a file's contents; `source` is the path.
Json parse_json_file(const std::filesystem::path& path, const JsonLimits& limits = {});

/// The text that Python's json.dumps(value) writes: ", " and ": " between items, everything beyond
/// printable ASCII escaped, floats as repr() writes them. Strings in `value` are valid UTF-8.
std::string python_json(const Json& value);
/// As json.dumps(value, indent=2).
std::string python_json_indented(const Json& value);

/// A value in double quotes for a message: control characters escaped, cut after `max` bytes.
std::string quote(std::string_view text, size_t max = 60);

/// A JSON value in a few words for a message: `the number 1.5`, `the text "x"`, `a list of 3`.
std::string describe(const Json& value);

}  // namespace slipway

// Key-value metadata of a GGUF file: typed getters.
#include "checkpoint/gguf_metadata.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "base/json.h"

namespace slipway {
namespace {

struct TypeRow {
  std::string_view name;
  size_t size;
};
constexpr std::array<TypeRow, 13> kTypes = {{{"u8", 1},
                                             {"i8", 1},
                                             {"u16", 2},
                                             {"i16", 2},
                                             {"u32", 4},
                                             {"i32", 4},
                                             {"f32", 4},
                                             {"bool", 1},
                                             {"string", 0},
                                             {"array", 0},
                                             {"u64", 8},
                                             {"i64", 8},
                                             {"f64", 8}}};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_integer(GgufType type) {
  return type != GgufType::kF32 && type != GgufType::kF64 && type != GgufType::kBool &&
         gguf_type_size(type) != 0;
}

/// The integer at `at`; nullopt when it is beyond int64.
std::optional<int64_t> integer(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::kU8:
      return load<uint8_t>(at);
    case GgufType::kI8:
      return load<int8_t>(at);
    case GgufType::kU16:
      return load<uint16_t>(at);
    case GgufType::kI16:
      return load<int16_t>(at);
    case GgufType::kU32:
      return load<uint32_t>(at);
    case GgufType::kI32:
      return load<int32_t>(at);
    case GgufType::kI64:
      return load<int64_t>(at);
    default: {
      const auto value = load<uint64_t>(at);
      if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<int64_t>(value);
    }
  }
}

double floating(GgufType type, const std::byte* at) {
  return type == GgufType::kF32 ? static_cast<double>(load<float>(at)) : load<double>(at);
}

std::string_view text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string describe_value(const GgufValue& value) {
  if (value.type == GgufType::kArray)
    return fmt::format("an array of {} {}", value.count, gguf_type_name(value.element));
  if (value.type == GgufType::kString) return "the text " + quote(text(value.bytes));
  if (value.type == GgufType::kBool) return load<uint8_t>(value.bytes.data()) ? "true" : "false";
  if (!is_integer(value.type))
    return fmt::format("the {} {}", gguf_type_name(value.type),
                       floating(value.type, value.bytes.data()));
  const auto number = integer(value.type, value.bytes.data());
  return fmt::format("the {} {}", gguf_type_name(value.type),
                     number ? std::to_string(*number) : "beyond 2^63");
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  const auto at = static_cast<size_t>(type);
  return at < kTypes.size() ? kTypes[at].name : "unknown";
}

size_t gguf_type_size(GgufType type) {
  const auto at = static_cast<size_t>(type);
  return at < kTypes.size() ? kTypes[at].size : 0;
}

bool is_utf8(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  for (size_t i = 0; i < s.size();) {
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || s.size() - i <= more) return false;
    for (size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    const unsigned char next = byte(i + 1);
    if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
        (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f))
      return false;
    i += more + 1;
  }
  return true;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void GgufMetadata::refuse(std::string_view key, const std::string& got,
                          const std::string& need) const {
  throw Error(kInvalid, fmt::format("[gguf] {}: {}: got {}, need {}", where_, key, got, need));
}

const GgufValue& GgufMetadata::require(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr)
    throw Error(kInvalid, fmt::format("[gguf] {}: the metadata has no {}, which this model needs",
                                      where_, key));
  return *value;
}

int64_t GgufMetadata::get_int(std::string_view key, int64_t min, int64_t max) const {
  const GgufValue& value = require(key);
  const std::string need = fmt::format("an integer in [{}, {}]", min, max);
  if (!is_integer(value.type)) refuse(key, describe_value(value), need);
  const auto number = integer(value.type, value.bytes.data());
  if (!number || *number < min || *number > max) refuse(key, describe_value(value), need);
  return *number;
}

std::optional<int64_t> GgufMetadata::find_int(std::string_view key, int64_t min,
                                              int64_t max) const {
  if (!has(key)) return std::nullopt;
  return get_int(key, min, max);
}

double GgufMetadata::get_double(std::string_view key) const {
  const GgufValue& value = require(key);
  if (value.type != GgufType::kF32 && value.type != GgufType::kF64)
    refuse(key, describe_value(value), "a floating point number");
  const double number = floating(value.type, value.bytes.data());
  if (!std::isfinite(number)) refuse(key, describe_value(value), "a finite number");
  return number;
}

std::optional<double> GgufMetadata::find_double(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return get_double(key);
}

std::optional<bool> GgufMetadata::find_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::kBool) refuse(key, describe_value(*value), "a bool");
  return load<uint8_t>(value->bytes.data()) != 0;
}

std::string_view GgufMetadata::get_string(std::string_view key) const {
  const GgufValue& value = require(key);
  if (value.type != GgufType::kString) refuse(key, describe_value(value), "a text");
  if (!is_utf8(text(value.bytes))) refuse(key, "bytes that are not UTF-8", "a UTF-8 text");
  return text(value.bytes);
}

std::optional<std::string_view> GgufMetadata::find_string(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return get_string(key);
}

std::optional<std::vector<std::string_view>> GgufMetadata::find_strings(
    std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::kArray || value->element != GgufType::kString)
    refuse(key, describe_value(*value), "an array of texts");
  std::vector<std::string_view> out;
  out.reserve(value->count);
  size_t at = 0;
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto length = static_cast<size_t>(load<uint64_t>(value->bytes.data() + at));
    out.push_back(text(value->bytes.subspan(at + 8, length)));
    at += 8 + length;
    if (!is_utf8(out.back()))
      refuse(key, fmt::format("bytes that are not UTF-8 in element {}", i), "UTF-8 texts");
  }
  return out;
}

std::optional<std::vector<int64_t>> GgufMetadata::find_ints(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::kArray || !is_integer(value->element))
    refuse(key, describe_value(*value), "an array of integers");
  std::vector<int64_t> out(value->count);
  const size_t size = gguf_type_size(value->element);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto number = integer(value->element, value->bytes.data() + i * size);
    if (!number) refuse(key, fmt::format("element {} beyond 2^63", i), "smaller integers");
    out[i] = *number;
  }
  return out;
}

std::optional<std::vector<double>> GgufMetadata::find_doubles(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::kArray ||
      (value->element != GgufType::kF32 && value->element != GgufType::kF64))
    refuse(key, describe_value(*value), "an array of floating point numbers");
  std::vector<double> out(value->count);
  const size_t size = gguf_type_size(value->element);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = floating(value->element, value->bytes.data() + i * size);
    if (!std::isfinite(out[i]))
      refuse(key, fmt::format("{} in element {}", out[i], i), "finite numbers");
  }
  return out;
}

}  // namespace slipway

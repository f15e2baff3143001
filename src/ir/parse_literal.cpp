// Numbers and small constants of a graph's text.
#include "ir/parse_literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/floats.h"
#include "ir/text.h"

namespace slipway {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
bool put(std::optional<T> value, std::byte* to) {
  if (value) std::memcpy(to, &*value, sizeof(T));
  return value.has_value();
}

template <class T>
bool put_plain(std::string_view text, std::byte* to) {
  return put(number<T>(text), to);
}

bool put_bool(std::string_view text, std::byte* to) {
  *to = std::byte(text == "true");
  return text == "true" || text == "false";
}

/// One element in its dtype's bytes; false when the text is no such number.
bool put_element(DType dtype, std::string_view text, std::byte* to) {
  const auto half = [&](uint16_t (*encode)(float)) {
    const std::optional<float> v = number<float>(text);
    return put(v ? std::optional<uint16_t>(encode(*v)) : std::nullopt, to);
  };
  switch (dtype) {
    case DType::kF64:
      return put_plain<double>(text, to);
    case DType::kF32:
      return put_plain<float>(text, to);
    case DType::kF16:
      return half(float_to_f16);
    case DType::kBF16:
      return half(float_to_bf16);
    case DType::kI64:
      return put_plain<int64_t>(text, to);
    case DType::kI32:
      return put_plain<int32_t>(text, to);
    case DType::kI16:
      return put_plain<int16_t>(text, to);
    case DType::kI8:
      return put_plain<int8_t>(text, to);
    case DType::kU64:
      return put_plain<uint64_t>(text, to);
    case DType::kU32:
      return put_plain<uint32_t>(text, to);
    case DType::kU16:
      return put_plain<uint16_t>(text, to);
    case DType::kU8:
    case DType::kF8E4M3:  // 8-bit floats are written as their codes
    case DType::kF8E5M2:
      return put_plain<uint8_t>(text, to);
    case DType::kBool:
      return put_bool(text, to);
  }
  return false;
}

}  // namespace

std::optional<double> real_number(std::string_view text) { return number<double>(text); }

Tensor constant_elements(Scanner& scan, DType dtype, const Shape& shape) {
  const size_t begin = scan.at();
  const int64_t count = numel(shape);
  if (count > kMaxPrintedElements)
    scan.fail(fmt::format("a constant in text has at most {} elements, got {}", kMaxPrintedElements,
                          shape_string(shape)));
  Tensor tensor(dtype, shape);
  const auto read = [&](int64_t i) {
    const size_t at = scan.at();
    const std::string_view text = scan.expression();
    std::byte* to = tensor.mutable_data() + i * itemsize(dtype);
    if (!put_element(dtype, text, to))
      scan.fail_at(at, fmt::format("'{}' is no {}", text, short_name(dtype)));
  };
  if (shape.empty()) {
    read(0);
    return tensor;
  }
  scan.need("[");
  int64_t got = 0;
  while (!scan.take("]")) {
    if (got != 0) scan.need(",");
    if (got == count) scan.fail_at(begin, fmt::format("more than {} elements", count));
    read(got++);
  }
  if (got != count) scan.fail_at(begin, fmt::format("got {} elements, need {}", got, count));
  return tensor;
}

}  // namespace slipway

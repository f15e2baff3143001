// Conversions between the floating point formats, exact or rounded to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace slipway {

inline float bf16_to_float(uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); }

inline uint16_t float_to_bf16(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>(bits >> 16);
}

inline float f16_to_float(uint16_t v) {
  const uint32_t sign = uint32_t{v & 0x8000u} << 16;
  const uint32_t magnitude = v & 0x7fffu;
  if (magnitude >= 0x7c00u)  // infinity and NaN keep their payload
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;  // subnormal, exact in float
  return sign != 0 ? -tiny : tiny;
}

inline uint16_t float_to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
  if (magnitude < 0x38800000u) {                        // subnormal result: let the FPU round
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

/// OCP E4M3 "fn": no infinity, NaN is 0x7f.
inline float f8e4m3_to_float(uint8_t v) {
  const int exponent = (v >> 3) & 15, mantissa = v & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (v & 0x80) != 0 ? -magnitude : magnitude;
}

/// OCP E5M2: the upper byte of a binary16.
inline float f8e5m2_to_float(uint8_t v) { return f16_to_float(static_cast<uint16_t>(v << 8)); }

}  // namespace slipway

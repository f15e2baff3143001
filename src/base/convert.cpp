// Conversion kernels: direct loops for the formats of weights, one general way for all the others.
#include "base/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/floats.h"
#include "slipway/error.h"

namespace slipway {
namespace {

template <class T>
T load(const std::byte* p, int64_t i) {
  T value;
  std::memcpy(&value, p + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* p, int64_t i, T value) {
  std::memcpy(p + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

template <class In, class F>
void map(const std::byte* in, std::byte* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) store(out, i, f(load<In>(in, i)));
}

// The branch-free forms of base/floats.h: compilers turn these loops into vector code.

float bf16_wide(uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); }

uint16_t bf16_narrow(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

float f16_wide(uint16_t v) {
  const uint32_t sign = uint32_t{v & 0x8000u} << 16, shifted = uint32_t{v & 0x7fffu} << 13;
  const uint32_t normal = shifted + 0x38000000u, special = shifted + 0x70000000u;
  // A subnormal is its bits under the exponent of 2^-14, less that 2^-14.
  const float tiny = std::bit_cast<float>(shifted + 0x38800000u) - 0x1p-14f;
  const uint32_t finite = shifted < 0x00800000u ? std::bit_cast<uint32_t>(tiny) : normal;
  return std::bit_cast<float>(sign | (shifted >= 0x0f800000u ? special : finite));
}

uint16_t f16_narrow(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const uint32_t tiny =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t value = magnitude < 0x38800000u ? tiny : rounded;
  value = magnitude >= 0x477ff000u ? 0x7c00u : value;
  value = magnitude > 0x7f800000u ? 0x7e00u : value;
  return static_cast<uint16_t>(sign | value);
}

/// Rounds to an F8 format of `kMantissa` bits whose largest finite code is kMax.
template <int kMantissa, int kBias, uint8_t kMax, uint8_t kOverflow>
uint8_t f8_narrow(float f) {
  const auto sign = static_cast<uint8_t>(std::signbit(f) ? 0x80 : 0);
  if (std::isnan(f)) return sign | 0x7f;
  const float magnitude = std::fabs(f);
  if (std::isinf(magnitude)) return sign | kOverflow;
  if (magnitude == 0.0f) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  const int lowest = 1 - kBias;      // exponent of the smallest normal number
  const int scale = kMantissa - std::max(exponent - 1, lowest);
  const auto steps = static_cast<int64_t>(std::nearbyint(std::ldexp(double{magnitude}, scale)));
  // Steps of one binade run on into the next: adding them to the binade's first code is enough.
  const int64_t binade = std::max(exponent - 1, lowest) - lowest;
  const int64_t code = (binade << kMantissa) + steps;
  return static_cast<uint8_t>(sign | (code > kMax ? kOverflow : code));
}

template <uint8_t kFormat>  // 43 or 52
const std::array<float, 256>& f8_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> t{};
    for (int i = 0; i < 256; ++i) {
      const auto v = static_cast<uint8_t>(i);
      t[static_cast<size_t>(i)] = kFormat == 43 ? f8e4m3_to_float(v) : f8e5m2_to_float(v);
    }
    return t;
  }();
  return table;
}

/// The paths that whole checkpoints take; false when there is none for the pair.
bool convert_directly(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  if (to == DType::kF32) {
    switch (from) {
      case DType::kBF16:
        return map<uint16_t>(in, out, n, bf16_wide), true;
      case DType::kF16:
        return map<uint16_t>(in, out, n, f16_wide), true;
      case DType::kF64:
        return map<double>(in, out, n, [](double v) { return static_cast<float>(v); }), true;
      case DType::kF8E4M3:
        return map<uint8_t>(in, out, n, [&t = f8_table<43>()](uint8_t v) { return t[v]; }), true;
      case DType::kF8E5M2:
        return map<uint8_t>(in, out, n, [&t = f8_table<52>()](uint8_t v) { return t[v]; }), true;
      default:
        return false;
    }
  }
  if (from != DType::kF32) return false;
  switch (to) {
    case DType::kBF16:
      return map<float>(in, out, n, bf16_narrow), true;
    case DType::kF16:
      return map<float>(in, out, n, f16_narrow), true;
    default:
      return false;
  }
}

// Everything else goes through the widest type of its kind, which holds every value exactly.

template <class In>
void widen(const std::byte* in, int64_t n, std::array<double, 512>& d,
           std::array<int64_t, 512>& i64) {
  for (int64_t i = 0; i < n; ++i) {
    const In value = load<In>(in, i);
    const auto at = static_cast<size_t>(i);
    if constexpr (std::is_floating_point_v<In>) d[at] = value;
    else i64[at] = static_cast<int64_t>(value);  // u64 keeps its bits
  }
}

template <class Out>
Out truncate(double v) {
  if (std::isnan(v)) return 0;
  // 2^digits is exact in double, which the largest integer is not.
  const double above = std::ldexp(1.0, std::numeric_limits<Out>::digits);
  if (v >= above) return std::numeric_limits<Out>::max();
  if (v <= static_cast<double>(std::numeric_limits<Out>::min()))
    return std::numeric_limits<Out>::min();
  return static_cast<Out>(v);
}

template <class Out>
struct Integer {
  static Out of(double v) { return truncate<Out>(v); }
  static Out of(int64_t v) { return static_cast<Out>(v); }
  static Out of(uint64_t v) { return static_cast<Out>(v); }
};
struct Float {
  template <class In>
  static float of(In v) {
    return static_cast<float>(v);
  }
};
struct Double {
  template <class In>
  static double of(In v) {
    return static_cast<double>(v);
  }
};
struct BF16 {
  template <class In>
  static uint16_t of(In v) {
    return bf16_narrow(static_cast<float>(v));
  }
};
struct F16 {
  template <class In>
  static uint16_t of(In v) {
    return f16_narrow(static_cast<float>(v));
  }
};
struct E4M3 {
  template <class In>
  static uint8_t of(In v) {
    return f8_narrow<3, 7, 0x7e, 0x7f>(static_cast<float>(v));
  }
};
struct E5M2 {
  template <class In>
  static uint8_t of(In v) {
    return f8_narrow<2, 15, 0x7b, 0x7c>(static_cast<float>(v));
  }
};
struct Bool {
  template <class In>
  static uint8_t of(In v) {
    return v != 0 ? 1 : 0;
  }
};

template <class To, class In>
void narrow_all(const In* in, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(out, i, To::of(in[i]));
}

template <class In>
void narrow(const In* in, DType to, std::byte* out, int64_t n) {
  switch (to) {
    case DType::kF64:
      return narrow_all<Double>(in, out, n);
    case DType::kF32:
      return narrow_all<Float>(in, out, n);
    case DType::kF16:
      return narrow_all<F16>(in, out, n);
    case DType::kBF16:
      return narrow_all<BF16>(in, out, n);
    case DType::kF8E4M3:
      return narrow_all<E4M3>(in, out, n);
    case DType::kF8E5M2:
      return narrow_all<E5M2>(in, out, n);
    case DType::kI64:
      return narrow_all<Integer<int64_t>>(in, out, n);
    case DType::kI32:
      return narrow_all<Integer<int32_t>>(in, out, n);
    case DType::kI16:
      return narrow_all<Integer<int16_t>>(in, out, n);
    case DType::kI8:
      return narrow_all<Integer<int8_t>>(in, out, n);
    case DType::kU64:
      return narrow_all<Integer<uint64_t>>(in, out, n);
    case DType::kU32:
      return narrow_all<Integer<uint32_t>>(in, out, n);
    case DType::kU16:
      return narrow_all<Integer<uint16_t>>(in, out, n);
    case DType::kU8:
      return narrow_all<Integer<uint8_t>>(in, out, n);
    case DType::kBool:
      return narrow_all<Bool>(in, out, n);
  }
}

/// Converts up to 512 elements.
void convert_block(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  std::array<double, 512> d;
  std::array<int64_t, 512> i64;
  switch (from) {
    case DType::kF64:
      widen<double>(in, n, d, i64);
      break;
    case DType::kF32:
      widen<float>(in, n, d, i64);
      break;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2: {
      std::array<float, 512> f;
      convert_directly(from, in, DType::kF32, reinterpret_cast<std::byte*>(f.data()), n);
      std::copy_n(f.begin(), n, d.begin());
      break;
    }
    case DType::kI64:
      widen<int64_t>(in, n, d, i64);
      break;
    case DType::kI32:
      widen<int32_t>(in, n, d, i64);
      break;
    case DType::kI16:
      widen<int16_t>(in, n, d, i64);
      break;
    case DType::kI8:
      widen<int8_t>(in, n, d, i64);
      break;
    case DType::kU64:
      widen<uint64_t>(in, n, d, i64);
      break;
    case DType::kU32:
      widen<uint32_t>(in, n, d, i64);
      break;
    case DType::kU16:
      widen<uint16_t>(in, n, d, i64);
      break;
    case DType::kU8:
      widen<uint8_t>(in, n, d, i64);
      break;
    case DType::kBool:
      for (int64_t i = 0; i < n; ++i)
        i64[static_cast<size_t>(i)] = load<uint8_t>(in, i) != 0 ? 1 : 0;
      break;
  }
  if (is_floating(from)) {
    narrow(d.data(), to, out, n);
  } else if (from == DType::kU64) {
    std::array<uint64_t, 512> u64;
    std::memcpy(u64.data(), i64.data(), static_cast<size_t>(n) * sizeof(uint64_t));
    narrow(u64.data(), to, out, n);
  } else {
    narrow(i64.data(), to, out, n);
  }
}

}  // namespace

void convert(DType from, const std::byte* in, DType to, std::byte* out, int64_t count) {
  SLIPWAY_ASSERT(count >= 0);
  if (count == 0) return;
  if (from == to) {
    std::memcpy(out, in, static_cast<size_t>(count * itemsize(from)));
    return;
  }
  if (convert_directly(from, in, to, out, count)) return;
  for (int64_t at = 0; at < count; at += 512)
    convert_block(from, in + at * itemsize(from), to, out + at * itemsize(to),
                  std::min<int64_t>(512, count - at));
}

}  // namespace slipway

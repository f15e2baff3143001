// Arrays of doubles that stand for tensors of any dtype.
#include <fmt/format.h>

#include <cmath>

#include "base/floats.h"
#include "ir/eval.h"

namespace slipway {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

/// The nearest value of an 8-bit format, ties to the even code; beyond the largest is NaN, as in
/// formats without infinity, or infinity.
double nearest_f8(double v, float (*decode)(uint8_t), double beyond) {
  if (std::isnan(v)) return v;
  const double magnitude = std::fabs(v);
  int low = 0, high = 0x7f;  // codes of one sign are in order of value
  while (!std::isfinite(decode(static_cast<uint8_t>(high)))) --high;
  const double largest = decode(static_cast<uint8_t>(high));
  const double gap = largest - decode(static_cast<uint8_t>(high - 1));
  if (magnitude > largest + gap / 2) return std::copysign(beyond, v);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (decode(static_cast<uint8_t>(middle)) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - decode(static_cast<uint8_t>(low));
  const double above = decode(static_cast<uint8_t>(high)) - magnitude;
  const bool up = above < below || (above == below && high % 2 == 0);
  return std::copysign(decode(static_cast<uint8_t>(up ? high : low)), v);
}

/// An integer reduced to the bits of its type, as hardware does.
double wrapped(double v, DType dtype) {
  // 2^53 itself is refused: 2^53 + 1 reads as it.
  if (!std::isfinite(v) || std::fabs(v) >= kExactIntegers)
    throw Error(kUnsupported, fmt::format("[eval] {} as {} is beyond the exact range of 2^53", v,
                                          short_name(dtype)));
  const auto bits = static_cast<uint64_t>(static_cast<int64_t>(v));
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(bits);
    case DType::kI16:
      return static_cast<int16_t>(bits);
    case DType::kI8:
      return static_cast<int8_t>(bits);
    case DType::kU32:
      return static_cast<uint32_t>(bits);
    case DType::kU16:
      return static_cast<uint16_t>(bits);
    case DType::kU8:
      return static_cast<uint8_t>(bits);
    case DType::kU64:
      if (v < 0) throw Error(kUnsupported, "[eval] a negative number as u64");
      [[fallthrough]];
    default:
      return std::trunc(v);
  }
}

double rounded(double v, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return v;
    case DType::kF32:
      return static_cast<float>(v);
    case DType::kF16:
      return f16_to_float(float_to_f16(static_cast<float>(v)));
    case DType::kBF16:
      return bf16_to_float(float_to_bf16(static_cast<float>(v)));
    case DType::kF8E4M3:
      return nearest_f8(v, f8e4m3_to_float, std::numeric_limits<double>::quiet_NaN());
    case DType::kF8E5M2:
      return nearest_f8(v, f8e5m2_to_float, std::numeric_limits<double>::infinity());
    case DType::kBool:
      return v != 0 ? 1 : 0;
    default:
      return wrapped(v, dtype);
  }
}

uint8_t f8_code(double v, float (*decode)(uint8_t)) {
  for (int code = 0; code < 256; ++code) {
    const double d = decode(static_cast<uint8_t>(code));
    if ((d == v && std::signbit(d) == std::signbit(v)) || (std::isnan(d) && std::isnan(v)))
      return static_cast<uint8_t>(code);
  }
  throw Error(kInternal, fmt::format("[eval] {} was not rounded to 8 bits", v));
}

/// How a dtype's elements lie in memory.
template <class T>
struct Plain {
  using Stored = T;
  static double decode(T v) { return static_cast<double>(v); }
  static T encode(double v) { return static_cast<T>(v); }
};
struct Half {
  using Stored = uint16_t;
  static double decode(uint16_t v) { return f16_to_float(v); }
  static uint16_t encode(double v) { return float_to_f16(static_cast<float>(v)); }
};
struct Brain {
  using Stored = uint16_t;
  static double decode(uint16_t v) { return bf16_to_float(v); }
  static uint16_t encode(double v) { return float_to_bf16(static_cast<float>(v)); }
};
template <float (*kDecode)(uint8_t)>
struct Eight {
  using Stored = uint8_t;
  static double decode(uint8_t v) { return kDecode(v); }
  static uint8_t encode(double v) { return f8_code(v, kDecode); }
};

template <class F>
void with_codec(DType dtype, F f) {
  switch (dtype) {
    case DType::kF64:
      return f(Plain<double>());
    case DType::kF32:
      return f(Plain<float>());
    case DType::kF16:
      return f(Half());
    case DType::kBF16:
      return f(Brain());
    case DType::kF8E4M3:
      return f(Eight<f8e4m3_to_float>());
    case DType::kF8E5M2:
      return f(Eight<f8e5m2_to_float>());
    case DType::kI64:
      return f(Plain<int64_t>());
    case DType::kI32:
      return f(Plain<int32_t>());
    case DType::kI16:
      return f(Plain<int16_t>());
    case DType::kI8:
      return f(Plain<int8_t>());
    case DType::kU64:
      return f(Plain<uint64_t>());
    case DType::kU32:
      return f(Plain<uint32_t>());
    case DType::kU16:
      return f(Plain<uint16_t>());
    case DType::kU8:
    case DType::kBool:
      return f(Plain<uint8_t>());
  }
}

}  // namespace

Array Array::from_tensor(const Tensor& tensor) {
  Array a{tensor.dtype(), tensor.shape(), std::vector<double>(static_cast<size_t>(tensor.numel()))};
  with_codec(a.dtype, [&]<class Codec>(Codec) {
    const auto* from = reinterpret_cast<const typename Codec::Stored*>(tensor.data());
    for (size_t i = 0; i < a.values.size(); ++i) a.values[i] = Codec::decode(from[i]);
  });
  a.round();  // refuses integers that a double cannot hold
  return a;
}

Tensor Array::to_tensor() const {
  Tensor t(dtype, shape);
  SLIPWAY_ASSERT(t.numel() == static_cast<int64_t>(values.size()));
  with_codec(dtype, [&]<class Codec>(Codec) {
    auto* to = reinterpret_cast<typename Codec::Stored*>(t.mutable_data());
    for (size_t i = 0; i < values.size(); ++i) to[i] = Codec::encode(values[i]);
  });
  return t;
}

void Array::round() {
  for (double& v : values) v = rounded(v, dtype);
}

}  // namespace slipway

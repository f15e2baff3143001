// Conversions against definitions that are too slow to use: every code, every rounding boundary.
#include "base/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/floats.h"
#include "slipway/tensor.h"

namespace slipway {
namespace {

template <class Out, class In>
std::vector<Out> run(DType from, const std::vector<In>& in, DType to) {
  std::vector<Out> out(in.size());
  convert(from, reinterpret_cast<const std::byte*>(in.data()), to,
          reinterpret_cast<std::byte*>(out.data()), static_cast<int64_t>(in.size()));
  return out;
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

template <class Code>
std::vector<Code> all_codes() {
  std::vector<Code> codes;
  for (uint32_t i = 0; i <= std::numeric_limits<Code>::max(); ++i)
    codes.push_back(static_cast<Code>(i));
  return codes;
}

template <class Code>
void check_widening(DType dtype, float (*reference)(Code)) {
  const auto codes = all_codes<Code>();
  const auto wide = run<float>(dtype, codes, DType::kF32);
  const auto doubles = run<double>(dtype, codes, DType::kF64);
  for (size_t i = 0; i < codes.size(); ++i) {
    ASSERT_TRUE(same(wide[i], reference(codes[i]))) << short_name(dtype) << " " << i;
    ASSERT_TRUE(same(static_cast<float>(doubles[i]), wide[i])) << short_name(dtype) << " " << i;
  }
}

TEST(Convert, EveryNarrowCodeWidensExactly) {
  check_widening<uint16_t>(DType::kBF16, bf16_to_float);
  check_widening<uint16_t>(DType::kF16, f16_to_float);
  check_widening<uint8_t>(DType::kF8E4M3, f8e4m3_to_float);
  check_widening<uint8_t>(DType::kF8E5M2, f8e5m2_to_float);
}

/// Every positive finite code, what lies half way to the next, and the floats around both.
template <class Code>
std::vector<float> boundaries(float (*wide)(Code), Code largest) {
  std::vector<float> values;
  for (uint32_t code = 0; code <= largest; ++code) {
    const float at = wide(static_cast<Code>(code));
    const float next = code < largest ? wide(static_cast<Code>(code + 1)) : at * 1.25f;
    const float middle = at + (next - at) / 2;
    for (const float v : {at, middle})
      for (const float w : {v, std::nextafter(v, 0.0f), std::nextafter(v, 1e30f)})
        for (const float signed_value : {w, -w}) values.push_back(signed_value);
  }
  for (const float v : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::denorm_min(), 1e-30f})
    for (const float signed_value : {v, -v}) values.push_back(signed_value);
  return values;
}

/// The nearest code, ties to the even one, by search; `above` from half a step beyond the largest
/// on.
template <class Code>
Code nearest(float v, float (*wide)(Code), Code largest, Code above, Code sign_bit) {
  const Code sign = std::signbit(v) ? sign_bit : Code{0};
  const double magnitude = std::fabs(double{v});
  uint32_t low = 0, high = largest;
  while (low < high) {  // the last code that is not above
    const uint32_t middle = (low + high + 1) / 2;
    if (double{wide(static_cast<Code>(middle))} <= magnitude) low = middle;
    else high = middle - 1;
  }
  const double at = wide(static_cast<Code>(low));
  const double before = low > 0 ? double{wide(static_cast<Code>(low - 1))} : -at;
  // Steps double only between binades, so beyond the largest code the step is that before it.
  const double next = low < largest ? double{wide(static_cast<Code>(low + 1))} : 2 * at - before;
  const double middle = (at + next) / 2;
  const bool up = magnitude > middle || (magnitude == middle && low % 2 == 1);
  if (!up) return static_cast<Code>(sign | low);
  return static_cast<Code>(sign | (low < largest ? low + 1 : above));
}

template <class Code>
void check_rounding(DType dtype, float (*wide)(Code), Code largest, Code above) {
  const auto sign_bit = static_cast<Code>(Code{1} << (sizeof(Code) * 8 - 1));
  const std::vector<float> values = boundaries<Code>(wide, largest);
  const auto codes = run<Code>(DType::kF32, values, dtype);
  const std::vector<double> doubles(values.begin(), values.end());
  const auto from_double = run<Code>(DType::kF64, doubles, dtype);
  for (size_t i = 0; i < values.size(); ++i) {
    const Code wanted = nearest<Code>(values[i], wide, largest, above, sign_bit);
    ASSERT_EQ(codes[i], wanted) << short_name(dtype) << " of " << values[i];
    ASSERT_EQ(from_double[i], wanted) << short_name(dtype) << " of double " << values[i];
  }
  const auto nan = run<Code>(DType::kF32, std::vector<float>{std::nanf("")}, dtype);
  EXPECT_TRUE(std::isnan(wide(nan[0]))) << short_name(dtype);
}

TEST(Convert, RoundsToNearestEvenAtEveryBoundary) {
  check_rounding<uint16_t>(DType::kF16, f16_to_float, 0x7bff, 0x7c00);
  check_rounding<uint16_t>(DType::kBF16, bf16_to_float, 0x7f7f, 0x7f80);
  check_rounding<uint8_t>(DType::kF8E4M3, f8e4m3_to_float, 0x7e, 0x7f);
  check_rounding<uint8_t>(DType::kF8E5M2, f8e5m2_to_float, 0x7b, 0x7c);
}

TEST(Convert, ScalarFormsOfFloatsAgree) {
  for (const float v : boundaries<uint16_t>(f16_to_float, 0x7bff)) {
    ASSERT_EQ(run<uint16_t>(DType::kF32, std::vector<float>{v}, DType::kF16)[0], float_to_f16(v));
    ASSERT_EQ(run<uint16_t>(DType::kF32, std::vector<float>{v}, DType::kBF16)[0], float_to_bf16(v));
  }
}

TEST(Convert, FloatsToIntegersTruncateAndSaturate) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> in{1.9, -1.9, 300, -300, 1e30, -1e30, inf, -inf, std::nan("")};
  EXPECT_EQ(run<int8_t>(DType::kF64, in, DType::kI8),
            (std::vector<int8_t>{1, -1, 127, -128, 127, -128, 127, -128, 0}));
  EXPECT_EQ(run<uint8_t>(DType::kF64, in, DType::kU8),
            (std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(
      run<int64_t>(DType::kF64, in, DType::kI64),
      (std::vector<int64_t>{1, -1, 300, -300, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0}));
  EXPECT_EQ(run<uint64_t>(DType::kF64, in, DType::kU64)[4], UINT64_MAX);
  EXPECT_EQ(run<uint8_t>(DType::kF64, in, DType::kBool), (std::vector<uint8_t>(9, 1)));
}

TEST(Convert, IntegersAndBooleans) {
  const std::vector<int32_t> in{-1, 0, 300, 1 << 30};
  EXPECT_EQ(run<int64_t>(DType::kI32, in, DType::kI64),
            (std::vector<int64_t>{-1, 0, 300, 1 << 30}));
  EXPECT_EQ(run<uint8_t>(DType::kI32, in, DType::kU8), (std::vector<uint8_t>{255, 0, 44, 0}));
  EXPECT_EQ(run<uint8_t>(DType::kI32, in, DType::kBool), (std::vector<uint8_t>{1, 0, 1, 1}));
  EXPECT_EQ(run<float>(DType::kI32, in, DType::kF32), (std::vector<float>{-1, 0, 300, 1 << 30}));
  const std::vector<uint64_t> large{UINT64_MAX};
  EXPECT_EQ(run<double>(DType::kU64, large, DType::kF64)[0], 0x1p64);
  const std::vector<uint8_t> odd{0, 1, 2, 255};  // a file may hold any byte as a bool
  EXPECT_EQ(run<float>(DType::kBool, odd, DType::kF32), (std::vector<float>{0, 1, 1, 1}));
}

TEST(Convert, AnyPairOfTypesOverBlocksAndUnalignedBytes) {
  constexpr int64_t kCount = 1300;
  for (int from = 0; from <= static_cast<int>(DType::kBool); ++from)
    for (int to = 0; to <= static_cast<int>(DType::kBool); ++to) {
      const auto a = static_cast<DType>(from), b = static_cast<DType>(to);
      // 0 and 1 are exact everywhere.
      std::vector<double> bits;
      for (int64_t i = 0; i < kCount; ++i) bits.push_back(i % 3 == 0 ? 1 : 0);
      std::vector<std::byte> in(kCount * 8 + 1), out(kCount * 8 + 1);
      std::vector<double> back(kCount);
      convert(DType::kF64, reinterpret_cast<const std::byte*>(bits.data()), a, in.data() + 1,
              kCount);
      convert(a, in.data() + 1, b, out.data() + 1, kCount);
      convert(b, out.data() + 1, DType::kF64, reinterpret_cast<std::byte*>(back.data()), kCount);
      ASSERT_EQ(back, bits) << short_name(a) << " to " << short_name(b);
    }
}

}  // namespace
}  // namespace slipway

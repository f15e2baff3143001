// Conversion and checks of input values; limits read from metadata.
#include "runtime/input_values.h"

#include <gtest/gtest.h>

#include "base/floats.h"

namespace slipway {
namespace {

template <class Call>
std::string message(Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kInvalid);
    return e.what();
  }
  return "no error";
}

TEST(ConvertInput, IntegersWithoutLoss) {
  const auto as_i64 = [](const Tensor& t) {
    const Tensor wide = convert_input(t, DType::kI64, "m", "x");
    const auto values = wide.values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  };
  EXPECT_EQ(as_i64(Tensor::of<int32_t>({2}, {-7, 9})), (std::vector<int64_t>{-7, 9}));
  EXPECT_EQ(as_i64(Tensor::of<int16_t>({2}, {-7, 9})), (std::vector<int64_t>{-7, 9}));
  EXPECT_EQ(as_i64(Tensor::of<uint8_t>({2}, {255, 0})), (std::vector<int64_t>{255, 0}));
  EXPECT_EQ(as_i64(Tensor::of<bool>({2}, {true, false})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(as_i64(Tensor::of<uint64_t>({1}, {5})), (std::vector<int64_t>{5}));
  const Tensor same = Tensor::of<int64_t>({1}, {5});
  EXPECT_EQ(convert_input(same, DType::kI64, "m", "x").data(), same.data());
  const Tensor narrow = convert_input(Tensor::of<int64_t>({1}, {300}), DType::kI32, "m", "x");
  EXPECT_EQ(narrow.values<int32_t>()[0], 300);
}

TEST(ConvertInput, RefusesLoss) {
  EXPECT_EQ(message([] {
              convert_input(Tensor::of<uint64_t>({1, 2}, {1, ~0ull}), DType::kI64, "m", "x");
            }),
            "[m] x[0, 1] is 18446744073709551615, which the graph's i64 does not hold (got u64)");
  EXPECT_EQ(message([] { convert_input(Tensor::of<int64_t>({1}, {-1}), DType::kU8, "m", "x"); }),
            "[m] x[0] is -1, which the graph's u8 does not hold (got i64)");
  EXPECT_EQ(message([] { convert_input(Tensor::of<int64_t>({1}, {2}), DType::kBool, "m", "x"); }),
            "[m] x[0] is 2, which the graph's bool does not hold (got i64)");
  EXPECT_EQ(message([] { convert_input(Tensor::of<float>({1}, {2}), DType::kI64, "m", "x"); }),
            "[m] x has dtype f32, need i64; convert it first");
  EXPECT_EQ(message([] { convert_input(Tensor::of<int64_t>({1}, {2}), DType::kF32, "m", "x"); }),
            "[m] x has dtype i64, need f32; convert it first");
  EXPECT_EQ(message([] { convert_input(Tensor::of<float>({1}, {2}), DType::kF16, "m", "x"); }),
            "[m] x has dtype f32, need f16; convert it first");
  EXPECT_EQ(message([] { convert_input(Tensor(DType::kF16, {1}), DType::kBF16, "m", "x"); }),
            "[m] x has dtype f16, need bf16; convert it first");
}

TEST(ConvertInput, FloatsWiden) {
  Tensor half(DType::kF16, {1}), brain(DType::kBF16, {1});
  *reinterpret_cast<uint16_t*>(half.mutable_data()) = float_to_f16(-1.5f);
  *reinterpret_cast<uint16_t*>(brain.mutable_data()) = float_to_bf16(3.0f);
  EXPECT_EQ(convert_input(half, DType::kF32, "m", "x").values<float>()[0], -1.5f);
  EXPECT_EQ(convert_input(brain, DType::kF64, "m", "x").values<double>()[0], 3.0);
  EXPECT_EQ(
      convert_input(Tensor::of<float>({1}, {0.1f}), DType::kF64, "m", "x").values<double>()[0],
      static_cast<double>(0.1f));
}

TEST(CheckValues, NamesTheValueAndThePlace) {
  const Tensor ids = Tensor::of<int64_t>({2, 3}, {0, 1, 2, 3, 128, 5});
  check_values(ids, {0, 128}, "m", "input_ids");
  EXPECT_EQ(message([&] {
              check_values(ids, {0, 127}, "m", "input_ids");
            }),
            "[m] input_ids[1, 1] is 128, need 0 to 127");
  EXPECT_EQ(message([] { check_values(Tensor::of<int32_t>({1}, {-1}), {}, "m", "input_ids"); }),
            "[m] input_ids[0] is -1, need at least 0");
  EXPECT_EQ(message([] {
              check_mask(Tensor::of<uint8_t>({2}, {1, 2}), "m", "mask");
            }),
            "[m] mask[1] is 2, need 0 to 1");
  check_mask(Tensor::of<float>({1}, {-3.4e38f}), "m", "mask");  // an additive mask
}

TEST(RunnerLimits, Metadata) {
  const auto limits = RunnerLimits::from_metadata(
      {{"slipway.ranges", R"({"input_ids": [0, 127]})"}, {"slipway.dims", R"({"n": [1, null]})"}},
      "m");
  EXPECT_EQ(limits.values.at("input_ids").max, 127);
  EXPECT_TRUE(limits.dims.at("n").contains(int64_t{1} << 62));
  RunnerLimits callers;
  callers.values = {{"input_ids", {0, 3}}, {"token_type_ids", {0, 1}}};
  callers.max_positions = 16;
  const RunnerLimits merged = limits.merged(callers);
  EXPECT_EQ(merged.values.at("input_ids").max, 127);  // the graph knows better
  EXPECT_EQ(merged.values.at("token_type_ids").max, 1);
  EXPECT_EQ(merged.max_positions, 16);
}

TEST(RunnerLimits, MalformedMetadata) {
  for (const char* text : {"", "[", "[]", R"({"a": 1})", R"({"a": [1]})", R"({"a": [2, 1]})",
                           R"({"a": ["x", 1]})", R"({"a": [0.5, 1]})", R"({"a": [null, 1]})"})
    EXPECT_THROW(RunnerLimits::from_metadata({{"slipway.dims", text}}, "m"), Error) << text;
}

}  // namespace
}  // namespace slipway

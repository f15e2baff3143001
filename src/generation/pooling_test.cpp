// Pooling, and the files that state it.
#include "generation/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/floats.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

std::vector<float> floats(const Tensor& t) {
  const auto values = t.values<float>();
  return {values.begin(), values.end()};
}

TEST(Pooling, MeanAndClsFollowTheMask) {
  const Tensor vectors = Tensor::of<float>({2, 3, 2}, {1, 2, 3, 4, 99, 99, 99, 99, 5, 6, 7, 10});
  const Tensor mask = Tensor::of<int64_t>({2, 3}, {1, 1, 0, 0, 1, 1});
  EXPECT_EQ(floats(pool(vectors, mask, Pooling::kMean)), (std::vector<float>{2, 3, 6, 8}));
  EXPECT_EQ(floats(pool(vectors, mask, Pooling::kCls)), (std::vector<float>{1, 2, 5, 6}));
}

TEST(Pooling, EmptyRowsAndHalfPrecision) {
  Tensor half(DType::kF16, {1, 1, 2});
  const uint16_t values[] = {float_to_f16(1.5F), float_to_f16(-2.0F)};
  std::memcpy(half.mutable_data(), values, sizeof(values));
  EXPECT_EQ(floats(pool(half, Tensor::of<int64_t>({1, 1}, {1}), Pooling::kMean)),
            (std::vector<float>{1.5F, -2.0F}));
  const Tensor none = pool(half, Tensor::of<int64_t>({1, 1}, {0}), Pooling::kMean);
  EXPECT_EQ(floats(none), (std::vector<float>{0, 0}));
  EXPECT_EQ(floats(l2_normalize(none)), (std::vector<float>{0, 0}));
}

TEST(Pooling, Normalizes) {
  EXPECT_EQ(floats(l2_normalize(Tensor::of<float>({2, 2}, {3, 4, -8, 6}))),
            (std::vector<float>{0.6F, 0.8F, -0.8F, 0.6F}));
}

TEST(Pooling, ShapesMustFit) {
  const Tensor vectors(DType::kF32, {2, 3, 4});
  const std::string error = error_of(kInvalid, [&] {
    pool(vectors, Tensor(DType::kI64, {2, 4}), Pooling::kMean);
  });
  EXPECT_TRUE(contains(error, "[2, 4]"));
}

TEST(PoolingSettings, ReadsWhatTheFilesState) {
  const TestFolder folder;
  EXPECT_EQ(PoolingSettings::from_directory(folder.path()).pooling, "mean");
  folder.write("modules.json", R"([{"type": "x.Transformer", "path": ""},
      {"type": "x.Pooling", "path": "1_Pooling"}, {"type": "x.Normalize", "path": "2_Normalize"}])");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 256})");
  PoolingSettings settings = PoolingSettings::from_directory(folder.path());
  EXPECT_EQ(settings.pooling, "mean");  // 1_Pooling did not travel
  EXPECT_TRUE(settings.normalize);
  EXPECT_EQ(settings.max_length, 256);
  folder.write("1_Pooling/config.json",
               R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(PoolingSettings::from_directory(folder.path()).pooling, "cls");
  folder.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  settings = PoolingSettings::from_directory(folder.path());
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { pooling_named(settings.pooling); }),
                       "pooling_mode_max_tokens"));
}

TEST(PoolingSettings, RefusesPathsAndTypes) {
  const TestFolder folder;
  folder.write("modules.json", R"([{"type": "x.Pooling", "path": "../outside"}])");
  EXPECT_EQ(PoolingSettings::from_directory(folder.path()).pooling, "mean");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": -3})");
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { PoolingSettings::from_directory(folder.path()); }), "-3"));
}

}  // namespace
}  // namespace slipway

// Pooling, the files that state it, logits and generation settings.
#include "generation/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/floats.h"
#include "base/test_expect.h"
#include "base/test_folder.h"
#include "generation/generation_settings.h"
#include "generation/logits.h"

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

TEST(Logits, LastPositionAndTies) {
  const LastLogits logits(Tensor::of<float>({2, 2, 3}, {9, 0, 0, 1, 5, 5, 9, 0, 0, 2, 1, 0}));
  EXPECT_EQ(logits.best(0), 1);
  EXPECT_EQ(logits.best(1), 0);
  EXPECT_EQ(logits.top(0, 2), (std::vector<std::pair<int64_t, float>>{{1, 5.F}, {2, 5.F}}));
  EXPECT_EQ(logits.top(1, 9).size(), 3u);
}

TEST(Logits, NanIsNoAnswer) {
  const LastLogits logits(Tensor::of<float>({1, 1, 2}, {1, NAN}));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { logits.best(0); }), "NaN"));
}

TEST(GenerationSettings, ListsAndTheOrderOfFiles) {
  const TestFolder folder;
  folder.write("config.json", R"({"eos_token_id": 5, "pad_token_id": 1})");
  EXPECT_EQ(GenerationSettings::from_directory(folder.path()).eos_ids, (std::vector<int64_t>{5}));
  folder.write("generation_config.json",
               R"({"eos_token_id": [7, 5], "pad_token_id": 3, "max_length": 20})");
  const GenerationSettings settings = GenerationSettings::from_directory(folder.path());
  EXPECT_EQ(settings.eos_ids, (std::vector<int64_t>{7, 5}));
  EXPECT_EQ(settings.pad_id, 3);
  EXPECT_EQ(settings.max_length, 20);
  EXPECT_FALSE(settings.max_new_tokens);
}

TEST(GenerationSettings, NullsAndMinusOneSayNothing) {
  const GenerationSettings settings = GenerationSettings::from_json(
      parse_json(R"({"eos_token_id": null, "pad_token_id": -1})", "a"),
      parse_json(R"({"text_config": {"eos_token_id": 4}})", "b"));
  EXPECT_EQ(settings.eos_ids, (std::vector<int64_t>{4}));
  EXPECT_FALSE(settings.pad_id);
}

TEST(GenerationSettings, NamesWhatIsWrong) {
  const std::string error = error_of(kInvalid, [] {
    GenerationSettings::from_json(parse_json(R"({"eos_token_id": [2, "x"]})", "a"), Json());
  });
  EXPECT_TRUE(contains(error, "generation_config.json: eos_token_id"));
}

}  // namespace
}  // namespace slipway

// Static caches: the buffer stays where it is, its slots are filled, and they come to an end.
#include <fmt/format.h>

#include "decoder_util.h"
#include "slipway/generation_session.h"

namespace slipway::decoders {
namespace {

ExportedModel export_static(const std::string& model, bool many) {
  return export_made(golden::folder(model), many ? "static_many" : "static");
}

/// One slot of one row and head.
std::vector<float> slot(const Tensor& cache, int64_t row, int64_t head, int64_t at) {
  const int64_t width = cache.dim(3);
  const float* begin =
      cache.values<float>().data() + ((row * cache.dim(1) + head) * cache.dim(2) + at) * width;
  return {begin, begin + width};
}

bool is_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v == 0; });
}

TEST(StaticCache, KeepsItsAddressOver200Steps) {
  const ExportedModel exported = export_static("llama-causal-lm", false);
  GenerationSession session(exported, {.max_cache_len = 210});
  EXPECT_EQ(session.max_length(), 210);
  session.forward(token_ids(2, 4));
  const auto before = session.cache();
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(before[0].first, "past_key_values.layers.0.keys");
  EXPECT_EQ(before[0].second.shape(), (Shape{2, 2, 210, 8}));
  for (int64_t step = 0; step < 200; ++step) {
    for (const auto& [leaf, tensor] : before) {
      EXPECT_TRUE(is_zero(slot(tensor, 1, 1, 4 + step))) << leaf << " " << step;
    }
    session.forward(token_ids(2, 1));
    // The views of the beginning show it: what is written is written there.
    for (const auto& [leaf, tensor] : before)
      EXPECT_FALSE(is_zero(slot(tensor, 1, 1, 4 + step))) << leaf << " " << step;
  }
  const auto after = session.cache();
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].second.data(), after[i].second.data());
  EXPECT_EQ(session.length(), 204);
}

// PC-28: what call one writes is there in call two, and only once.
TEST(StaticCache, CallsSeeWhatEarlierOnesWrote) {
  for (const bool many : {false, true}) {
    const Fixture made(export_static("qwen3-causal-lm", many));
    const auto state = made.state();
    const Tensor ids = token_ids(1, 6);
    state->forward(columns(ids, 0, 3), ones(1, 3), 1);
    const auto cache = state->cache();
    const std::vector<float> first = slot(cache[0].second, 0, 0, 2);
    EXPECT_FALSE(is_zero(first));
    const Tensor second = state->forward(columns(ids, 3, 6), ones(1, 3), 1).clone();
    EXPECT_EQ(slot(cache[0].second, 0, 0, 2), first);
    const auto other = made.state();
    Tensor changed = ids.clone();
    changed.mutable_values<int64_t>()[0] += 1;
    read(*other, changed, ones(1, 6), {3, 6});
    const Tensor without = other->forward(columns(ids, 0, 1), ones(1, 1), 1).clone();
    const Tensor with = state->forward(columns(ids, 0, 1), ones(1, 1), 1);
    EXPECT_GT(cases::difference(with, without), 1e-3) << "the first call left no trace";
  }
}

TEST(StaticCache, RefusesToWritePastItsEnd) {
  for (const bool many : {false, true}) {
    const Fixture made(export_static("llama-causal-lm", many));
    const auto state = made.state({.max_cache_len = 10, .max_positions = {}, .windows = {}});
    refused(kInvalid, "got 11 tokens after 0, the cache has slots for 10; crop or reset it",
            [&] { state->forward(token_ids(1, 11), ones(1, 11), 1); });
    const Tensor whole = token_ids(1, 10);
    state->forward(columns(whole, 0, 8), ones(1, 8), 1);
    refused(kInvalid, "got 3 tokens after 8",
            [&] { state->forward(token_ids(1, 3), ones(1, 3), 1); });
    const Tensor last = state->forward(columns(whole, 8, 10), ones(1, 2), 1).clone();
    refused(kInvalid, "got 1 tokens after 10",
            [&] { state->forward(token_ids(1, 1), ones(1, 1), 1); });
    const auto growing = fixture({"llama-causal-lm", "growing"}).state();
    EXPECT_LE(difference_where(last, growing->forward(whole, ones(1, 10), 1), ones(1, 1)),
              kTolerance);
  }
}

TEST(StaticCache, HasTheLengthThatIsChosenAtLoad) {
  const Fixture made(export_static("mistral-causal-lm", true));
  EXPECT_EQ(made.state()->max_length(), kDefaultCacheLength);
  EXPECT_EQ(made.state({.max_cache_len = {}, .max_positions = 64, .windows = {}})->max_length(),
            64);
  const Tensor ids = token_ids(2, 12), mask = left_padding({3, 0}, 12);
  const Tensor want = made.state()->forward(ids, mask, 12).clone();
  for (const int64_t slots : {12, 13, 40}) {
    const auto state = made.state({.max_cache_len = slots, .max_positions = {}, .windows = {}});
    EXPECT_LE(difference_where(read(*state, ids, mask, {5, 11, 12}), want, mask), kTolerance);
  }
  refused(kUsage, "max_cache_len is 0",
          [&] { made.state({.max_cache_len = 0, .max_positions = {}, .windows = {}}); });
}

TEST(StaticCache, IsCleanAfterResetCropAndSmallerBatches) {
  const Fixture made(export_static("llama-causal-lm", true));
  const auto state = made.state({.max_cache_len = 16, .max_positions = {}, .windows = {}});
  state->forward(token_ids(3, 9), ones(3, 9), 1);
  const auto cache = state->cache();
  state->crop(4);
  EXPECT_FALSE(is_zero(slot(cache[1].second, 2, 1, 3)));
  EXPECT_TRUE(is_zero(slot(cache[1].second, 2, 1, 4)));
  state->reorder(std::vector<int64_t>{2});
  EXPECT_TRUE(is_zero(slot(cache[1].second, 1, 0, 0)));
  EXPECT_TRUE(is_zero(slot(cache[1].second, 2, 1, 3)));
  state->reset();
  EXPECT_TRUE(is_zero(slot(cache[1].second, 0, 0, 0)));
}

}  // namespace
}  // namespace slipway::decoders

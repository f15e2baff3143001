// Passes over scores, and the reference's processors on fixed scores (tests/golden/generation).
#include "generation/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/json.h"
#include "base/test_expect.h"
#include "generation/generation_config_json.h"
#include "generation/logits_processors.h"
#include "generation/sampler.h"

namespace slipway {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Logits, TiesGiveTheLowestId) {
  EXPECT_EQ(best_token(std::vector<float>{1, 5, 5, 0}, 0), 1);
  EXPECT_EQ(best_token(std::vector<float>{-kInfinity, -kInfinity}, 0), 0);
  std::vector<float> wide(1003, -2.0F);  // more than the lanes, and a rest
  EXPECT_EQ(best_token(wide, 0), 0);
  wide[1002] = -1.0F;
  EXPECT_EQ(best_token(wide, 0), 1002);
  wide[517] = wide[30] = -0.5F;
  EXPECT_EQ(best_token(wide, 0), 30);
  EXPECT_EQ(top_tokens(std::vector<float>{1, 5, 5, 0}, 3),
            (std::vector<std::pair<int64_t, float>>{{1, 5.F}, {2, 5.F}, {0, 1.F}}));
  EXPECT_EQ(top_tokens(std::vector<float>{1, NAN}, 9).size(), 2u);
}

TEST(Logits, NanIsNoAnswer) {
  for (const size_t place : {0U, 17U, 32U}) {
    std::vector<float> scores(33, 1.0F), out(33);
    scores[place] = NAN;
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { best_token(scores, 4); }), "row 4 hold NaN"));
    EXPECT_TRUE(
        contains(error_of(kInvalid, [&] { best_token(scores, 4); }), "the weights hold NaN"));
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { log_softmax(scores, out, 4); }), "row 4"));
  }
  std::vector<float> scores(3, kInfinity), out(3);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { log_softmax(scores, out, 0); }), "is inf"));
}

TEST(Logits, LogSoftmaxSumsToOne) {
  const std::vector<float> scores = {100, 101, -kInfinity, 98};
  std::vector<float> out(4);
  log_softmax(scores, out, 0);
  double sum = 0;
  for (const float v : out) sum += std::exp(static_cast<double>(v));
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NEAR(out[1], -0.349012, 1e-5);
  EXPECT_EQ(out[2], -kInfinity);
}

TEST(Logits, OtherTensorsAreRefused) {
  EXPECT_TRUE(contains(error_of(kInternal,
                                [] {
                                  Logits(Tensor(DType::kF32, {2, 1, 8}), 1, 1);
                                }),
                       "[2, 1, 8]"));
  EXPECT_TRUE(contains(error_of(kInternal,
                                [] {
                                  Logits(Tensor(DType::kF16, {1, 1, 8}), 1, 1);
                                }),
                       "float16"));
}

/// What our processors make of a row; impossible tokens are -infinity.
std::vector<float> processed(const GenerationPlan& plan, const std::vector<int64_t>& ids,
                             int64_t padding, std::vector<float> scores) {
  LogitsProcessors processors(plan);
  if (!processors.is_idle(std::ssize(ids))) processors.apply(ids, padding, scores);
  if (!plan.do_sample) return scores;
  Sampler sampler(plan);
  std::vector<float> kept(scores.size(), -kInfinity);
  for (const Candidate& c : sampler.candidates(scores, 0))
    kept[static_cast<size_t>(c.id)] = c.score;
  return kept;
}

TEST(Processors, EqualTheReference) {
  const Json golden = parse_json_file(std::filesystem::path(SLIPWAY_SOURCE_DIR) /
                                      "tests/golden/generation/processors.json")[0];
  ASSERT_EQ(golden["cases"].size(), 24u);
  for (const Json& one : golden["cases"]) {
    GenerationPlan plan =
        plan_generation(generation_config_from_json(one["settings"], Json()), 7, std::nullopt);
    for (size_t row = 0; row < 2; ++row) {
      const auto got = processed(plan, golden["input_ids"][row].get<std::vector<int64_t>>(),
                                 golden["padding"][row].get<int64_t>(),
                                 golden["logits"][row].get<std::vector<float>>());
      const Json& want = one["scores"][row];
      ASSERT_EQ(got.size(), want.size());
      for (size_t id = 0; id < want.size(); ++id) {
        if (want[id].is_null()) EXPECT_EQ(got[id], -kInfinity) << one["settings"] << " id " << id;
        else EXPECT_NEAR(got[id], want[id].get<float>(), 1e-5) << one["settings"] << " id " << id;
      }
    }
  }
}

TEST(Processors, IdsBeyondTheVocabularyAreLeftAlone) {
  GenerationPlan plan;
  plan.repetition_penalty = 2;
  plan.no_repeat_ngram_size = 1;
  plan.eos = {77};
  plan.min_length = 9;
  EXPECT_EQ(processed(plan, {50, 1}, 0, {4, 4, 4}), (std::vector<float>{4, -kInfinity, 4}));
}

TEST(Processors, IdleWhereNothingChanges) {
  GenerationPlan plan;
  plan.min_length = 5;
  EXPECT_TRUE(LogitsProcessors(plan).is_idle(3));  // no end token to forbid
  plan.eos = {1};
  EXPECT_FALSE(LogitsProcessors(plan).is_idle(4));
  EXPECT_TRUE(LogitsProcessors(plan).is_idle(5));
}

TEST(Sampling, DrawsFollowTheProbabilities) {
  const std::vector<Candidate> candidates = {
      {3, std::log(0.5F)}, {5, std::log(0.3F)}, {9, std::log(0.2F)}};
  std::map<int64_t, int> counts;
  constexpr int kDraws = 20000;
  for (int row = 0; row < kDraws; ++row) {
    RandomStream random(42, static_cast<uint64_t>(row), 0);
    ++counts[Sampler::choose(candidates, random)];
  }
  EXPECT_NEAR(counts[3], 0.5 * kDraws, 300);
  EXPECT_NEAR(counts[5], 0.3 * kDraws, 300);
  EXPECT_NEAR(counts[9], 0.2 * kDraws, 300);
}

TEST(Sampling, StreamsAreFixedNumbers) {
  // A change of these numbers changes every seeded result there is.
  RandomStream first(0, 0, 0), other(0, 1, 0), later(0, 0, 1);
  EXPECT_EQ(first.next(), 920862675595841680ULL);
  EXPECT_NE(other.next(), later.next());
  EXPECT_GE(first.uniform(), 0);
  EXPECT_LT(first.uniform(), 1);
}

TEST(Sampling, ImpossibleRowsAreErrors) {
  GenerationPlan plan;
  plan.do_sample = true;
  Sampler sampler(plan);
  const auto error = [&](std::vector<float> scores) {
    return error_of(kInvalid, [&] { sampler.candidates(scores, 2); });
  };
  EXPECT_TRUE(contains(error({-kInfinity, -kInfinity}), "no token is possible in row 2"));
  EXPECT_TRUE(contains(error({1, kInfinity}), "infinite"));
  EXPECT_TRUE(contains(error({1, NAN}), "NaN"));
}

}  // namespace
}  // namespace slipway

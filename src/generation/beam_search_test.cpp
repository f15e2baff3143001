// The bookkeeping of beams on steps made by hand, and beams against all sequences there are.
#include "generation/beam_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/test_expect.h"
#include "generation/fake_state.h"
#include "generation/generate.h"
#include "generation/logits.h"

namespace slipway {
namespace {

using test::FakeState;
using test::ids_of;
using Ids = std::vector<int64_t>;

GenerationPlan two_beams(double length_penalty, EarlyStopping early = EarlyStopping::kFalse) {
  GenerationPlan plan;
  plan.max_new_tokens = 10;
  plan.num_beams = 2;
  plan.eos = {9};
  plan.length_penalty = length_penalty;
  plan.early_stopping = early;
  return plan;
}

TEST(BeamSteps, BestFirstTheLowerPlaceAmongEquals) {
  const std::vector<float> scores = {1, 4, 4, 0, 5, 4};
  EXPECT_EQ(best_steps(scores, 3, 3), (std::vector<BeamStep>{{1, 1, 5}, {0, 1, 4}, {0, 2, 4}}));
  EXPECT_EQ(best_steps(scores, 3, 100).size(), 6u);
}

TEST(Beams, EndedOnesCompeteAndOthersGoOn) {
  Beams beams(two_beams(1));
  EXPECT_EQ(beams.step_count(), 4);
  // The end token is second: it takes a place, and the third continuation goes on instead.
  EXPECT_EQ(beams.advance(std::vector<BeamStep>{{0, 1, -1}, {0, 9, -2}, {0, 2, -3}, {0, 3, -4}},
                          {false, true, false, false}),
            (Ids{0, 0}));
  EXPECT_EQ(beams.running()[1].ids, Ids{2});
  EXPECT_EQ(beams.running()[1].score, -3);
  EXPECT_EQ(beams.finished()[0].ids, Ids{9});
  EXPECT_EQ(beams.finished()[0].score, -2);
  EXPECT_FALSE(beams.is_full());
  // An end token behind the first num_beams is dropped.
  EXPECT_EQ(beams.advance(std::vector<BeamStep>{{1, 4, -3}, {0, 5, -3.5F}, {0, 9, -4}, {1, 6, -5}},
                          {false, false, true, false}),
            (Ids{1, 0}));
  EXPECT_EQ(beams.running()[0].ids, (Ids{2, 4}));
  EXPECT_FALSE(beams.is_full());
  beams.advance(std::vector<BeamStep>{{0, 9, -4.5F}, {0, 5, -5}, {1, 6, -6}, {1, 7, -7}},
                {true, false, false, false});
  EXPECT_TRUE(beams.is_full());
  EXPECT_EQ(beams.finished()[0].ids, (Ids{2, 4, 9}));
  EXPECT_EQ(beams.finished()[0].score, -1.5F);  // -4.5 / 3 beats -2 / 1
}

TEST(Beams, StopWhenNothingCanImprove) {
  const std::vector<BeamStep> first = {{0, 9, -1}, {0, 1, -1.5F}, {0, 2, -2}, {0, 3, -9}};
  const std::vector<BeamStep> second = {{0, 9, -2}, {0, 5, -2.5F}, {1, 6, -8}, {1, 7, -9}};
  const auto after_two = [&](double penalty, EarlyStopping early) {
    Beams beams(two_beams(penalty, early));
    beams.advance(first, {true, false, false, false});
    EXPECT_TRUE(beams.can_improve());
    beams.advance(second, {true, false, false, false});
    EXPECT_TRUE(beams.is_full());
    return beams.can_improve();
  };
  // Worst finished -1 (both); the best running -2.5 over 2, or over all 10 tokens.
  EXPECT_FALSE(after_two(1, EarlyStopping::kFalse));
  EXPECT_TRUE(after_two(1, EarlyStopping::kNever));
  EXPECT_FALSE(after_two(0, EarlyStopping::kNever));
}

TEST(BeamDecoding, WideBeamsFindTheBestSequence) {
  // 3 beams, as many as tokens, cannot miss the best of all sequences of 2 tokens.
  GenerationConfig config;
  config.max_new_tokens = 2;
  config.num_beams = 3;
  config.num_return_sequences = 3;
  const auto model = test::scrambled(3);
  FakeState state(model);
  const GeneratedTokens made = generate_tokens(state, ids_of({1, 1}, {1}), {}, config, {});
  std::map<double, Ids> all;
  const auto logs = [&](const FakeState::Row& ids) {
    std::vector<float> out(3);
    log_softmax(model(ids), out, 0);
    return out;
  };
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 3; ++b)
      all[-(logs({1})[static_cast<size_t>(a)] + logs({1, a})[static_cast<size_t>(b)]) / 2.0] = {a,
                                                                                                b};
  auto best = all.begin();
  for (size_t i = 0; i < 3; ++i, ++best) {
    EXPECT_EQ(made.new_ids[i], best->second);
    EXPECT_NEAR(made.scores[i], -best->first, 1e-5);
    EXPECT_EQ(made.finish_reasons[i], FinishReason::kLength);
  }
}

TEST(BeamDecoding, RowsOfABatchAreIndependent) {
  GenerationConfig config;
  config.max_new_tokens = 12;
  config.num_beams = 3;
  config.num_return_sequences = 2;
  config.eos_token_id = {{4, 11}};
  config.pad_token_id = 0;
  FakeState state(test::scrambled(20));
  const GeneratedTokens both = generate_tokens(state, ids_of({2, 2}, {3, 4, 0, 6}),
                                               ids_of({2, 2}, {1, 1, 0, 1}), config, {});
  const auto alone = [&](const Tensor& ids, size_t row) {
    const GeneratedTokens made = generate_tokens(state, ids, {}, config, {});
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(made.lengths[i], both.lengths[row + i]);
      EXPECT_EQ(made.scores[i], both.scores[row + i]);
      for (size_t at = 0; at < static_cast<size_t>(made.lengths[i]); ++at)
        EXPECT_EQ(made.new_ids[i][at], both.new_ids[row + i][at]);
    }
  };
  alone(ids_of({1, 2}, {3, 4}), 0);
  alone(ids_of({1, 1}, {6}), 2);
}

TEST(BeamDecoding, StopStringsEndBeams) {
  GenerationConfig config;
  config.max_new_tokens = 10;
  config.num_beams = 2;
  config.stop_strings = {{"f"}};
  GenerateHooks hooks;
  hooks.text_of = [](std::span<const int64_t> ids) {
    std::string text;
    for (const int64_t id : ids) text += static_cast<char>('a' + id);
    return text;
  };
  FakeState state(test::successor);
  const GeneratedTokens made = generate_tokens(state, ids_of({1, 1}, {2}), {}, config, hooks);
  EXPECT_EQ(made.new_ids[0].back(), 5);
  EXPECT_EQ(made.finish_reasons[0], FinishReason::kStop);
}

TEST(BeamDecoding, SamplingIsReproducible) {
  GenerationConfig config;
  config.max_new_tokens = 8;
  config.num_beams = 3;
  config.num_return_sequences = 3;
  config.do_sample = true;
  config.seed = 5;
  FakeState state(test::scrambled(30));
  const auto run = [&] {
    return generate_tokens(state, ids_of({1, 2}, {3, 4}), {}, config, {}).new_ids;
  };
  const auto first = run();
  EXPECT_EQ(run(), first);
  config.seed = 6;
  EXPECT_NE(run(), first);
}

TEST(BeamDecoding, SamplesWithoutReplacement) {
  // Two beams draw two tokens first; the likelier of them is the answer.
  const std::vector<double> p = {0.5, 0.25, 0.15, 0.1};
  FakeState state([&](const FakeState::Row&) {
    std::vector<float> logits;
    for (const double one : p) logits.push_back(static_cast<float>(std::log(one)));
    return logits;
  });
  GenerationConfig config;
  config.max_new_tokens = 1;
  config.num_beams = 2;
  config.do_sample = true;
  std::map<int64_t, double> want, got;
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 4; ++b)
      if (a != b) want[static_cast<int64_t>(std::min(a, b))] += p[a] * p[b] / (1 - p[a]);
  constexpr int kRuns = 20000;
  for (int seed = 0; seed < kRuns; ++seed) {
    config.seed = static_cast<uint64_t>(seed);
    got[generate_tokens(state, ids_of({1, 1}, {0}), {}, config, {}).new_ids[0][0]] += 1.0 / kRuns;
  }
  for (const auto& [id, share] : want) EXPECT_NEAR(got[id], share, 0.015) << id;
}

TEST(BeamDecoding, RefusesStreamingAndSmallVocabularies) {
  GenerationConfig config;
  config.num_beams = 5;
  config.max_new_tokens = 2;
  config.eos_token_id = {{1, 2}};
  FakeState state(test::scrambled(2));
  GenerateHooks hooks;
  hooks.on_token = [](int64_t, int64_t) { return true; };
  const Tensor prompt = ids_of({1, 1}, {1});
  EXPECT_TRUE(contains(error_of(kUsage, [&] { generate_tokens(state, prompt, {}, config, hooks); }),
                       "num_beams is 5"));
  config.eos_token_id = {{1}};
  config.num_beams = 5;
  FakeState one(test::scrambled(2));
  EXPECT_NO_THROW(generate_tokens(one, prompt, {}, config, {}));
  config.eos_token_id = {{0, 1}};
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { generate_tokens(one, prompt, {}, config, {}); }),
                       "use fewer beams"));
}

}  // namespace
}  // namespace slipway

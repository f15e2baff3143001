// Prompt lookup: the guesses, and that decoding with them gives greedy decoding's tokens.
#include "generation/prompt_lookup.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "generation/fake_state.h"
#include "generation/generate.h"

namespace slipway {
namespace {

using test::FakeState;
using test::ids_of;
using Ids = std::vector<int64_t>;

Ids guesses(const Ids& ids, int64_t ngram, int64_t count) {
  const auto found = lookup_guesses(ids, ngram, count);
  return {found.begin(), found.end()};
}

TEST(PromptLookup, LongestThenFirstMatch) {
  EXPECT_EQ(guesses({1, 2, 3, 9, 2, 4, 1, 2}, 2, 3), (Ids{3, 9, 2}));
  EXPECT_EQ(guesses({5, 2, 3, 9, 2, 4, 1, 2}, 2, 3), (Ids{3, 9, 2}));  // of 2 alone
  EXPECT_EQ(guesses({5, 2, 3, 1, 2, 4, 1, 2}, 2, 3), (Ids{4, 1, 2}));
  EXPECT_EQ(guesses({7, 7, 7}, 2, 5), (Ids{7}));
  EXPECT_EQ(guesses({1, 2, 3}, 2, 3), Ids{});
  EXPECT_EQ(guesses({1}, 2, 3), Ids{});
}

/// The same under both ways of decoding; returns the calls of each.
std::pair<int64_t, int64_t> equal_runs(FakeState state, const Tensor& ids, const Tensor& mask,
                                       GenerationConfig config, int64_t guesses) {
  std::vector<std::pair<int64_t, int64_t>> seen[2];
  GenerateHooks hooks;
  size_t run = 0;
  hooks.on_token = [&](int64_t row, int64_t id) {
    seen[run].emplace_back(row, id);
    return true;
  };
  const GeneratedTokens plain = generate_tokens(state, ids, mask, config, hooks);
  run = 1;
  config.prompt_lookup_num_tokens = guesses;
  state.calls = 0;
  const GeneratedTokens looked = generate_tokens(state, ids, mask, config, hooks);
  EXPECT_EQ(looked.new_ids, plain.new_ids);
  EXPECT_EQ(looked.finish_reasons, plain.finish_reasons);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(state.calls, looked.forward_calls);
  return {plain.forward_calls, looked.forward_calls};
}

TEST(PromptLookup, FewerCallsWhereTextRepeats) {
  GenerationConfig config;
  config.max_new_tokens = 40;
  const FakeState state(test::successor, 60);
  const auto [plain, looked] = equal_runs(state, ids_of({1, 2}, {0, 1}), {}, config, 7);
  EXPECT_EQ(plain, 40);
  EXPECT_LT(looked, 20);
}

TEST(PromptLookup, AnyBatchAnyEnd) {
  const FakeState state(test::scrambled(5));
  for (const int64_t guesses : {1, 3, 10})
    for (const int64_t end : {0, 2, 4}) {
      GenerationConfig config;
      config.max_new_tokens = 30;
      config.eos_token_id = {{end}};
      config.pad_token_id = 1;
      config.max_matching_ngram_size = 1 + guesses % 3;
      equal_runs(state, ids_of({3, 4}, {0, 0, 1, 2, 3, 1, 4, 3, 0, 2, 2, 1}),
                 ids_of({3, 4}, {0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1}), config, guesses);
    }
}

TEST(PromptLookup, WithProcessorsAndLimits) {
  const FakeState state(test::scrambled(6), 24);
  GenerationConfig config;
  config.max_new_tokens = 20;
  config.eos_token_id = {{3}};
  config.min_new_tokens = 9;
  config.repetition_penalty = 1.2;
  equal_runs(state, ids_of({1, 5}, {1, 2, 1, 2, 1}), {}, config, 6);
  config.repetition_penalty.reset();
  config.no_repeat_ngram_size = 4;
  equal_runs(state, ids_of({1, 5}, {1, 2, 1, 2, 1}), {}, config, 6);
}

}  // namespace
}  // namespace slipway

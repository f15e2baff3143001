// Greedy decoding and sampling over a made decoder: ends, lengths, stop strings, streaming, errors.
#include "generation/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_expect.h"
#include "generation/fake_state.h"

namespace slipway {
namespace {

using test::FakeState;
using test::ids_of;
using test::successor;
using Ids = std::vector<int64_t>;
using Rows = std::vector<Ids>;
using Reasons = std::vector<FinishReason>;

GenerationConfig new_tokens(int64_t count) {
  GenerationConfig config;
  config.max_new_tokens = count;
  return config;
}

/// The text of id i is the letter 'a' + i.
std::string letters(std::span<const int64_t> ids) {
  std::string text;
  for (const int64_t id : ids) text += static_cast<char>('a' + id);
  return text;
}

TEST(Greedy, FollowsTheTokens) {
  FakeState state(successor);
  GenerateHooks hooks;
  hooks.first_step_top = 2;
  const GeneratedTokens made =
      generate_tokens(state, ids_of({2, 2}, {0, 1, 4, 5}), {}, new_tokens(4), hooks);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 4, 5}, {6, 7, 0, 1}}));
  EXPECT_EQ(made.lengths, (Ids{4, 4}));
  EXPECT_EQ(made.finish_reasons, (Reasons(2, FinishReason::kLength)));
  EXPECT_EQ(made.first_step_top[0], (std::vector<std::pair<int64_t, float>>{{2, 3.F}, {3, 2.F}}));
  EXPECT_EQ(made.forward_calls, 4);
  EXPECT_EQ(state.fed(0), (Ids{0, 1, 2, 3, 4}));  // the last token is not fed
  EXPECT_TRUE(made.scores.empty());
}

TEST(Greedy, RowsEndAloneAndAreFedPadding) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(6);
  config.eos_token_id = {{3, 7}};
  config.pad_token_id = 5;
  std::vector<std::pair<int64_t, int64_t>> seen;
  GenerateHooks hooks;
  hooks.on_token = [&](int64_t row, int64_t id) {
    seen.emplace_back(row, id);
    return true;
  };
  const GeneratedTokens made = generate_tokens(state, ids_of({2, 2}, {0, 1, 0, 3}),
                                               ids_of({2, 2}, {1, 1, 0, 1}), config, hooks);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 5, 5}, {4, 5, 6, 7}}));
  EXPECT_EQ(made.lengths, (Ids{2, 4}));
  EXPECT_EQ(made.finish_reasons, (Reasons(2, FinishReason::kEos)));
  EXPECT_EQ(state.fed(0), (Ids{0, 1, 2, 3, 5}));
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{
                      {0, 2}, {1, 4}, {0, 3}, {1, 5}, {1, 6}, {1, 7}}));
}

TEST(Greedy, ShortestLengthForbidsEnds) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(6);
  config.eos_token_id = {{3}};
  config.min_new_tokens = 3;
  const auto run = [&] {
    return generate_tokens(state, ids_of({1, 2}, {0, 1}), {}, config, {}).new_ids[0];
  };
  EXPECT_EQ(run(), (Ids{2, 4, 5, 6, 7, 0}));  // 3 is skipped for 4 once
  config.min_new_tokens.reset();
  config.min_length = 3;
  EXPECT_EQ(run(), (Ids{2, 3}));
}

TEST(Greedy, NgramsAndPenaltiesChangeTheChoice) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(3);
  config.no_repeat_ngram_size = 2;
  EXPECT_EQ(generate_tokens(state, ids_of({1, 4}, {1, 2, 3, 1}), {}, config, {}).new_ids[0],
            (Ids{3, 4, 5}));  // not 2 after 1 again
  config.no_repeat_ngram_size.reset();
  config.repetition_penalty = 2;
  EXPECT_EQ(generate_tokens(state, ids_of({1, 3}, {2, 0, 1}), {}, config, {}).new_ids[0],
            (Ids{3, 4, 5}));
}

TEST(Greedy, PaddingIsNotPenalized) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(1);
  config.repetition_penalty = 2;
  EXPECT_EQ(generate_tokens(state, ids_of({1, 3}, {2, 2, 1}), ids_of({1, 3}, {0, 0, 1}), config, {})
                .new_ids[0],
            (Ids{2}));
}

TEST(Greedy, CallerCanStop) {
  FakeState state(successor);
  GenerateHooks hooks;
  hooks.on_token = [](int64_t, int64_t id) { return id != 4; };
  const GeneratedTokens made =
      generate_tokens(state, ids_of({1, 1}, {1}), {}, new_tokens(9), hooks);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 4}}));
  EXPECT_EQ(made.finish_reasons[0], FinishReason::kCaller);
}

TEST(StopStrings, EndAtTheTokenThatCompletesThem) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(8);
  config.stop_strings = {{"zz", "de"}};
  config.pad_token_id = 0;
  GenerateHooks hooks;
  hooks.text_of = letters;
  const GeneratedTokens made = generate_tokens(state, ids_of({2, 1}, {1, 5}), {}, config, hooks);
  EXPECT_EQ(made.new_ids, (Rows{{2, 3, 4, 0, 0, 0, 0}, {6, 7, 0, 1, 2, 3, 4}}));
  EXPECT_EQ(made.finish_reasons, (Reasons(2, FinishReason::kStop)));
  // The prompt's own text does not count.
  EXPECT_EQ(generate_tokens(state, ids_of({1, 2}, {2, 3}), {}, config, hooks).lengths[0], 8);
}

TEST(StopStrings, LongAfterTheBeginning) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(64);
  config.stop_strings = {{"habcdefghabcdefghabcx", "fgh!"}};
  config.pad_token_id = 0;
  int64_t count = 0;
  GenerateHooks hooks;
  hooks.text_of = [&](std::span<const int64_t> ids) {  // the 40th token ends with a mark
    EXPECT_LE(ids.size(), 37u);
    return letters(ids) + (++count == 40 ? "!" : "");
  };
  const GeneratedTokens made = generate_tokens(state, ids_of({1, 1}, {7}), {}, config, hooks);
  EXPECT_EQ(made.lengths[0], 40);
  EXPECT_EQ(made.finish_reasons[0], FinishReason::kStop);
}

TEST(StopStrings, NeedText) {
  FakeState state(successor);
  GenerationConfig config;
  config.stop_strings = {{"x"}};
  EXPECT_TRUE(contains(error_of(kUsage,
                                [&] {
                                  generate_tokens(state, ids_of({1, 1}, {1}), {}, config, {});
                                }),
                       "text_of"));
  EXPECT_EQ(state.calls, 0);
}

TEST(Sampling, SameSeedSameTokensWhateverTheBatch) {
  GenerationConfig config = new_tokens(12);
  config.do_sample = true;
  config.seed = 7;
  FakeState state(test::scrambled(40));
  const Tensor two = ids_of({2, 2}, {3, 4, 5, 6});
  const Rows both = generate_tokens(state, two, {}, config, {}).new_ids;
  EXPECT_EQ(generate_tokens(state, two, {}, config, {}).new_ids, both);
  EXPECT_EQ(generate_tokens(state, ids_of({1, 2}, {3, 4}), {}, config, {}).new_ids[0], both[0]);
  GenerateHooks hooks;
  hooks.first_prompt = 1;
  EXPECT_EQ(generate_tokens(state, ids_of({1, 2}, {5, 6}), {}, config, hooks).new_ids[0], both[1]);
  config.seed = 8;
  EXPECT_NE(generate_tokens(state, two, {}, config, {}).new_ids, both);
  config.top_k = 1;
  const Rows greedy = generate_tokens(state, two, {}, config, {}).new_ids;
  config.do_sample = false;
  EXPECT_EQ(generate_tokens(state, two, {}, config, {}).new_ids, greedy);
}

TEST(Sampling, SeveralSequencesOfOnePrompt) {
  GenerationConfig config = new_tokens(10);
  config.do_sample = true;
  config.num_return_sequences = 3;
  FakeState state(test::scrambled(40));
  const GeneratedTokens made = generate_tokens(state, ids_of({2, 2}, {3, 4, 5, 6}), {}, config, {});
  ASSERT_EQ(made.new_ids.size(), 6u);
  EXPECT_NE(made.new_ids[0], made.new_ids[1]);
  EXPECT_EQ(state.real_ids(2)[0], 3);
  EXPECT_EQ(state.real_ids(3)[0], 5);
  EXPECT_EQ(made.forward_calls, 10);
}

TEST(GenerateErrors, Prompts) {
  FakeState state(successor, 12);
  const auto error = [&](const Tensor& prompt, const Tensor& mask, int64_t count = 3) {
    return error_of(kInvalid, [&] { generate_tokens(state, prompt, mask, new_tokens(count), {}); });
  };
  EXPECT_TRUE(contains(error(Tensor(DType::kI64, {1, 0}), {}), "prompt is empty"));
  for (const Shape& shape : {Shape{3}, Shape{1, 1, 3}}) {
    const std::string message = error(Tensor(DType::kI64, shape), {});
    EXPECT_TRUE(contains(message, "need [batch, sequence]"));
    EXPECT_EQ(message.find("empty"), std::string::npos) << message;
  }
  EXPECT_TRUE(
      contains(error(ids_of({1, 2}, {1, 0}), ids_of({1, 2}, {1, 0})), "padded on the left"));
  EXPECT_TRUE(contains(error(ids_of({1, 3}, {1, 0, 1}), ids_of({1, 3}, {1, 0, 1})), "after a 1"));
  EXPECT_TRUE(
      contains(error(ids_of({1, 2}, {1, 0}), ids_of({1, 2}, {0, 0})), "everywhere in row 0"));
  EXPECT_TRUE(contains(error(ids_of({1, 2}, {1, 0}), ids_of({1, 1}, {1})), "must be equal"));
  EXPECT_TRUE(contains(error(ids_of({1, 2}, {1, 0}), ids_of({1, 2}, {2, 1})), "attention_mask"));
  EXPECT_TRUE(
      contains(error(ids_of({1, 2}, {1, 0}), {}, 12), "need 13 positions, the model has 12"));
  EXPECT_EQ(state.calls, 0);
  EXPECT_EQ(generate_tokens(state, ids_of({1, 2}, {0, 0}), {}, new_tokens(11), {}).lengths[0], 11);
}

TEST(GenerateErrors, TokensOfAnotherModel) {
  FakeState state(successor);
  GenerationConfig config = new_tokens(2);
  config.eos_token_id = {{8}};
  const auto error = [&] {
    return error_of(kInvalid, [&] { generate_tokens(state, ids_of({1, 1}, {1}), {}, config, {}); });
  };
  EXPECT_TRUE(contains(error(), "eos_token_id has 8, the model has 8 tokens"));
  // One of them is enough, and padding is only fed to rows that ended: as 0 where it is no token.
  config.eos_token_id = {{2, 8}};
  config.pad_token_id = 9;
  config.max_new_tokens = 3;
  EXPECT_EQ(generate_tokens(state, ids_of({2, 1}, {1, 3}), {}, config, {}).new_ids,
            (Rows{{2, 9, 9}, {4, 5, 6}}));
  EXPECT_EQ(state.fed(0), (Ids{1, 2, 0}));
}

TEST(GenerateErrors, NanLogits) {
  FakeState state([](const FakeState::Row&) { return std::vector<float>{1, NAN, 0}; });
  GenerationConfig config = new_tokens(2);
  for (const int64_t beams : {1, 1, 2}) {
    config.num_beams = beams;
    EXPECT_TRUE(contains(error_of(kInvalid,
                                  [&] {
                                    generate_tokens(state, ids_of({1, 1}, {1}), {}, config, {});
                                  }),
                         "row 0 hold NaN"));
    config.do_sample = !config.do_sample.value_or(false);
  }
}

}  // namespace
}  // namespace slipway

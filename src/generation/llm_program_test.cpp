// What metadata methods of programs for ExecuTorch's LLM runner say, and answers that are refused.
#include "generation/llm_program.h"

#include "base/test_expect.h"

namespace slipway {
namespace {

using Metadata = std::map<std::string, std::string>;

TEST(LlmProgram, IsWhatTheMethodsSay) {
  EXPECT_FALSE(read_llm_program({{"get_vocab_size", "9"}, {"use", "true"}}, "x"));
  const auto program = read_llm_program({{"get_max_seq_len", "128"},
                                         {"get_max_context_len", "2048"},
                                         {"get_vocab_size", "9"},
                                         {"get_eos_id", "4"},
                                         {"get_eos_ids", "0, 2"}},
                                        "model.pte");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->most_tokens, 128);
  EXPECT_EQ(program->slots, 2048);
  EXPECT_EQ(program->vocabulary, 9);
  EXPECT_EQ(program->ends, (std::vector<int64_t>{0, 2}));
}

TEST(LlmProgram, MayLeaveMethodsOut) {
  const auto short_one = read_llm_program({{"get_max_seq_len", "16"}, {"get_eos_id", "4"}}, "x");
  ASSERT_TRUE(short_one);
  EXPECT_EQ(short_one->slots, 16);
  EXPECT_EQ(short_one->ends, (std::vector<int64_t>{4}));
  const auto silent = read_llm_program({{"use_kv_cache", "true"}}, "x");
  ASSERT_TRUE(silent);
  EXPECT_FALSE(silent->slots);
  EXPECT_TRUE(silent->ends.empty());
}

TEST(LlmProgram, RefusesAnswersThatAreNoNumbers) {
  const auto refusal = [](const char* method, const char* answer) {
    return error_of(kInvalid, [&] {
      read_llm_program({{"use_kv_cache", "true"}, {method, answer}}, "model.pte");
    });
  };
  for (const char* answer : {"0", "-3", "many", "12x", "99999999999999999999"})
    EXPECT_TRUE(contains(refusal("get_max_seq_len", answer),
                         "[model.pte] the method get_max_seq_len answers " + std::string(answer)));
  EXPECT_TRUE(contains(refusal("get_eos_ids", "1, -2"), "need numbers from 0"));
  EXPECT_TRUE(contains(refusal("get_eos_ids", "1,2"), "get_eos_ids answers 1,2"));
}

}  // namespace
}  // namespace slipway

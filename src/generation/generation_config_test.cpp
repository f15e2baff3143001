// Generation settings out of files, merged, and checked.
#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "generation/generation_config_json.h"
#include "generation/generation_plan.h"

namespace slipway {
namespace {

using Ids = std::vector<int64_t>;

GenerationConfig read(const std::string& generation_config, const std::string& config = "{}") {
  return generation_config_from_json(parse_json(generation_config, "a"), parse_json(config, "b"));
}

TEST(GenerationConfigFiles, ListsAndTheOrderOfFiles) {
  const TestFolder folder;
  EXPECT_EQ(GenerationConfig::from_pretrained(folder.path()), GenerationConfig());
  folder.write("config.json", R"({"eos_token_id": 5, "text_config": {"pad_token_id": 3}})");
  EXPECT_EQ(GenerationConfig::from_pretrained(folder.path()).eos_token_id, Ids{5});
  EXPECT_EQ(GenerationConfig::from_pretrained(folder.path()).pad_token_id, 3);
  folder.write("generation_config.json",
               R"({"eos_token_id": [7, 5], "max_length": 20, "pad_token_id": 0})");
  const GenerationConfig settings = GenerationConfig::from_pretrained(folder.path());
  EXPECT_EQ(settings.eos_token_id, (Ids{7, 5}));
  EXPECT_EQ(settings.pad_token_id, 0);
  EXPECT_EQ(settings.max_length, 20);
  EXPECT_FALSE(settings.max_new_tokens);
}

TEST(GenerationConfigFiles, NullsAndMinusOneSayNothing) {
  const GenerationConfig settings = read(
      R"({"eos_token_id": null, "pad_token_id": -1, "top_k": null})", R"({"eos_token_id": [2]})");
  EXPECT_EQ(settings.eos_token_id, Ids{2});
  EXPECT_FALSE(settings.pad_token_id);
  EXPECT_FALSE(settings.top_k);
}

TEST(GenerationConfigFiles, EveryField) {
  const GenerationConfig settings = read(R"({
      "max_new_tokens": 1, "min_new_tokens": 2, "min_length": 3, "stop_strings": "x",
      "do_sample": true, "temperature": 1, "top_k": 4, "top_p": 0.5, "min_p": 0.1,
      "repetition_penalty": 1.1, "no_repeat_ngram_size": 2,
      "num_beams": 3, "length_penalty": -1.5, "early_stopping": "never",
      "num_return_sequences": 2, "prompt_lookup_num_tokens": 6, "max_matching_ngram_size": 7,
      "cache_implementation": "static", "max_cache_len": 9})");
  GenerationConfig want;
  want.max_new_tokens = 1;
  want.min_new_tokens = 2;
  want.min_length = 3;
  want.stop_strings = {{"x"}};
  want.do_sample = true;
  want.temperature = 1;
  want.top_k = 4;
  want.top_p = 0.5;
  want.min_p = 0.1;
  want.repetition_penalty = 1.1;
  want.no_repeat_ngram_size = 2;
  want.num_beams = 3;
  want.length_penalty = -1.5;
  want.early_stopping = EarlyStopping::kNever;
  want.num_return_sequences = 2;
  want.prompt_lookup_num_tokens = 6;
  want.max_matching_ngram_size = 7;
  want.cache_implementation = "static";
  want.max_cache_len = 9;
  EXPECT_EQ(settings, want);
  EXPECT_EQ(read(R"({"early_stopping": true})").early_stopping, EarlyStopping::kTrue);
  want.seed = ~uint64_t{0};
  EXPECT_EQ(GenerationConfig().merged(want), want);
  EXPECT_EQ(want.merged({}), want);
}

TEST(GenerationConfigFiles, NamesWhatIsWrong) {
  const auto error = [](const char* text) { return error_of(kInvalid, [&] { read(text); }); };
  EXPECT_TRUE(
      contains(error(R"({"eos_token_id": [2, "x"]})"), "generation_config.json: eos_token_id"));
  EXPECT_TRUE(contains(error(R"({"pad_token_id": -2})"), "pad_token_id"));
  EXPECT_TRUE(contains(error(R"({"early_stopping": "maybe"})"), "\"never\""));
  EXPECT_TRUE(contains(error(R"({"do_sample": 1})"), "true or false"));
  EXPECT_TRUE(contains(error(R"({"top_k": 1.5})"), "an integer"));
  EXPECT_TRUE(contains(error(R"({"max_new_tokens": 99999999999999999999})"), "max_new_tokens"));
  EXPECT_TRUE(contains(error("[1]"), "need an object"));
}

TEST(GenerationConfigMerged, GivenLengthsAreNotCompletedInAnotherWay) {
  GenerationConfig file, given;
  file.max_new_tokens = 5;
  file.min_new_tokens = 4;
  given.max_length = 30;
  given.min_length = 20;
  const GenerationConfig all = given.merged(file);
  EXPECT_FALSE(all.max_new_tokens);
  EXPECT_FALSE(all.min_new_tokens);
  EXPECT_EQ(all.max_length, 30);
  EXPECT_EQ(GenerationConfig().merged(file).max_new_tokens, 5);
}

TEST(GenerationPlan, DefaultsAndLengths) {
  GenerationConfig config;
  EXPECT_EQ(plan_generation(config, 10, std::nullopt).max_new_tokens, 128);
  EXPECT_EQ(plan_generation(config, 10, 64).max_new_tokens, 55);  // the last one is never fed
  config.max_length = 12;
  config.min_length = 11;
  EXPECT_EQ(plan_generation(config, 10, 64).max_new_tokens, 2);
  EXPECT_EQ(plan_generation(config, 10, 64).min_length, 11);
  config.min_new_tokens = 4;
  config.max_new_tokens = 7;
  config.eos_token_id = {{9, 8}};
  const GenerationPlan plan = plan_generation(config, 10, 64);
  EXPECT_EQ(plan.max_new_tokens, 7);
  EXPECT_EQ(plan.min_length, 14);
  EXPECT_EQ(plan.pad, 9);
  EXPECT_EQ(plan.top_k, 0);
  config.do_sample = true;
  EXPECT_EQ(plan_generation(config, 10, 64).top_k, 50);
}

TEST(GenerationPlan, NamesFieldValueAndRange) {
  const auto error = [](auto change) {
    GenerationConfig config;
    change(config);
    return error_of(kInvalid, [&] { plan_generation(config, 10, 64); });
  };
  EXPECT_TRUE(contains(error([](auto& c) { c.max_new_tokens = 0; }),
                       "max_new_tokens is 0, need at least 1"));
  EXPECT_TRUE(contains(error([](auto& c) { c.max_length = 10; }), "max_length is 10, need more"));
  EXPECT_TRUE(contains(error([](auto& c) { c.max_new_tokens = 56; }),
                       "need 65 positions, the model has 64; set max_new_tokens to at most 55"));
  EXPECT_TRUE(contains(error([](auto& c) { c.eos_token_id = {{-1}}; }), "eos_token_id is -1"));
  EXPECT_TRUE(contains(error([](auto& c) { c.stop_strings = {{""}}; }), "stop_strings"));
  EXPECT_TRUE(contains(error([](auto& c) { c.repetition_penalty = 0; }),
                       "repetition_penalty is 0, need a number above 0"));
  EXPECT_TRUE(contains(error([](auto& c) { c.num_beams = 0; }), "num_beams is 0, need 1 to"));
  EXPECT_TRUE(contains(error([](auto& c) { c.num_return_sequences = 2; }), "set do_sample"));
  EXPECT_TRUE(contains(error([](auto& c) {
                         c.num_beams = 2;
                         c.num_return_sequences = 3;
                       }),
                       "at most num_beams, which is 2"));
  EXPECT_TRUE(contains(error([](auto& c) {
                         c.prompt_lookup_num_tokens = 3;
                         c.num_beams = 2;
                       }),
                       "prompt lookup is for greedy"));
  const auto sampling = [&](auto change) {
    return error([&](auto& c) {
      c.do_sample = true;
      change(c);
    });
  };
  EXPECT_TRUE(contains(sampling([](auto& c) { c.temperature = 0; }), "do_sample to false"));
  EXPECT_TRUE(contains(sampling([](auto& c) { c.top_k = -1; }), "top_k is -1, need at least 0"));
  EXPECT_TRUE(
      contains(sampling([](auto& c) { c.top_p = 1.5; }), "top_p is 1.5, need a number above 0"));
  EXPECT_TRUE(contains(sampling([](auto& c) { c.min_p = 2; }), "min_p is 2, need a number from 0"));
  EXPECT_TRUE(contains(error_of(kInvalid, [] { plan_generation({}, 65, 64); }),
                       "the prompt has 65 tokens, the model has positions for 64"));
  const auto slots = [](GenerationConfig config, int64_t prompt) {
    return error_of(kInvalid, [&] { plan_generation(config, prompt, 5, LengthLimit::kSlots); });
  };
  EXPECT_TRUE(contains(slots({}, 9),
                       "the prompt has 9 tokens, the cache has slots for 5; shorten "
                       "the prompt or use a larger max_cache_len"));
  GenerationConfig many;
  many.max_new_tokens = 9;
  EXPECT_TRUE(contains(slots(many, 2),
                       "need 10 slots, the cache has 5; set max_new_tokens to at "
                       "most 4 or use a larger max_cache_len"));
}

TEST(GenerationPlan, UnusedValuesMayBeAnything) {
  GenerationConfig config;  // as in checkpoints that are greedy by default
  config.temperature = 0;
  config.top_p = 0;
  EXPECT_NO_THROW(plan_generation(config, 1, 64));
}

}  // namespace
}  // namespace slipway

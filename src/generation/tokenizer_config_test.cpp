// Tests of reading tokenizer_config.json and special_tokens_map.json.
#include "generation/tokenizer_config.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway {
namespace {

using Tokens = std::map<std::string, std::string>;

TokenizerConfig read(const Json& config, const Json& special = Json()) {
  return TokenizerConfig::from_json(config, special, "config");
}

TEST(TokenizerConfig, ReadsEverySpellingOfATokenAndSkipsNull) {
  const TokenizerConfig config =
      read({{"bos_token", "<s>"},
            {"eos_token", {{"__type", "AddedToken"}, {"content", "</s>"}}},
            {"pad_token", nullptr},
            {"image_token", "<image>"},
            {"add_bos_token", true},
            {"extra_special_tokens", {{"audio_token", "<audio>"}}},
            {"additional_special_tokens", {"<x>"}}});
  EXPECT_EQ(config.special_tokens, (Tokens{{"bos_token", "<s>"},
                                           {"eos_token", "</s>"},
                                           {"image_token", "<image>"},
                                           {"audio_token", "<audio>"}}));
  std::vector<std::string> added;
  for (const Json& row : config.added_tokens) {
    EXPECT_EQ(row["special"], true) << row;
    added.push_back(row["content"]);
  }
  EXPECT_EQ(added, (std::vector<std::string>{"<s>", "</s>", "<image>", "<audio>", "<x>"}));
}

TEST(TokenizerConfig, TheTokensMapWinsUnlessTokensAreListedById) {
  const Json map = {{"eos_token", "<map>"}};
  EXPECT_EQ(read({{"eos_token", "<own>"}}, map).special_tokens.at("eos_token"), "<map>");
  const Json listed = {{"eos_token", "<own>"}, {"added_tokens_decoder", Json::object()}};
  EXPECT_EQ(read(listed, map).special_tokens.at("eos_token"), "<own>");
}

TEST(TokenizerConfig, ListedTokensComeInTheOrderOfTheirIds) {
  const TokenizerConfig config =
      read({{"added_tokens_decoder",
             {{"10", {{"content", "b"}, {"lstrip", true}}}, {"9", {{"content", "a"}}}}}});
  ASSERT_EQ(config.added_tokens.size(), 2u);
  EXPECT_EQ(config.added_tokens[0]["content"], "a");
  EXPECT_EQ(config.added_tokens[0]["id"], 9);
  EXPECT_EQ(config.added_tokens[1]["lstrip"], true);
  EXPECT_FALSE(config.added_tokens[1].contains("special"));
}

TEST(TokenizerConfig, SidesAndLimit) {
  const TokenizerConfig none = read(Json::object());
  EXPECT_EQ(none.padding_side, Side::kRight);
  EXPECT_EQ(none.max_length, std::nullopt);
  const TokenizerConfig config =
      read({{"padding_side", "left"}, {"truncation_side", "left"}, {"model_max_length", 512}});
  EXPECT_EQ(config.padding_side, Side::kLeft);
  EXPECT_EQ(config.truncation_side, Side::kLeft);
  EXPECT_EQ(config.max_length, 512);
  EXPECT_EQ(read({{"model_max_length", 1e30}}).max_length, std::nullopt);
}

TEST(TokenizerConfig, RefusesWrongTypesByName) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json::array(), "config"},
      {{{"eos_token", 3}}, "`eos_token` is the number 3"},
      {{{"eos_token", {{"content", 3}}}}, "`eos_token`"},
      {{{"eos_token", {{"content", "a"}, {"lstrip", 1}}}}, "`lstrip`"},
      {{{"padding_side", "up"}}, "`padding_side`"},
      {{{"model_max_length", -1}}, "`model_max_length`"},
      {{{"model_max_length", "long"}}, "`model_max_length`"},
      {{{"added_tokens_decoder", {"x"}}}, "`added_tokens_decoder`"},
      {{{"added_tokens_decoder", {{"-1", {{"content", "a"}}}}}}, "`added_tokens_decoder`"},
      {{{"added_tokens_decoder", {{"99999999999", {{"content", "a"}}}}}}, "`added_tokens_decoder`"},
      {{{"extra_special_tokens", 1}}, "`extra_special_tokens`"},
      {{{"additional_special_tokens", {1}}}, "`additional_special_tokens`"},
  };
  for (const auto& [config, part] : cases) {
    EXPECT_TRUE(contains(error_of(kInvalid, [&, c = config] { read(c); }), part)) << config;
  }
}

TEST(TokenizerConfig, ReadsADirectory) {
  TestFolder directory;
  EXPECT_TRUE(TokenizerConfig::from_directory(directory.path()).special_tokens.empty());
  directory.write("special_tokens_map.json", R"({"pad_token": "<p>"})");
  EXPECT_EQ(TokenizerConfig::from_directory(directory.path()).special_tokens.at("pad_token"),
            "<p>");
  directory.write("tokenizer_config.json", "{");
  EXPECT_THROW(TokenizerConfig::from_directory(directory.path()), Error);
}

}  // namespace
}  // namespace slipway

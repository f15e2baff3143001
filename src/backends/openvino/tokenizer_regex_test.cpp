// Patterns: texts taken literally, the longest of several, Oniguruma's terms in PCRE2's.
#include "backends/openvino/tokenizer_regex.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"

namespace slipway::openvino {
namespace {

std::string translated(const std::string& regex) {
  const Json pattern = {{"Regex", regex}};
  return pattern_of(Part(pattern, "pre_tokenizer.pattern"));
}

TEST(TokenizerRegex, TakesTextsLiterally) {
  EXPECT_EQ(literal("a_1"), "a_1");
  EXPECT_EQ(literal("<|x|>"), R"(\<\|x\|\>)");
  EXPECT_EQ(literal(" \n"), R"(\x{20}\x{A})");
  EXPECT_EQ(literal("\u2581\u00e9"), "\u2581\u00e9");
  const Json pattern = {{"String", "."}};
  EXPECT_EQ(pattern_of(Part(pattern, "p")), R"(\.)");
}

TEST(TokenizerRegex, PrefersTheLongestText) {
  const std::vector<std::string> one = {"<s>"}, nested = {"a", "ab", "abc"}, apart = {"x", "yz"};
  EXPECT_EQ(longest_of(one), R"((?:\<s\>))");
  EXPECT_EQ(longest_of(nested), "(?:a(?:b(?:c)?)?)");
  EXPECT_EQ(longest_of(apart), "(?:x|yz)");
}

TEST(TokenizerRegex, SharesBeginnings) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back("<unused" + std::to_string(i) + ">");
  EXPECT_LT(longest_of(texts).size(), texts.size() * 12);
}

TEST(TokenizerRegex, TranslatesOniguruma) {
  EXPECT_EQ(translated(R"( ?\p{L}+|\s+(?!\S))"), R"( ?\p{L}+|\s+(?!\S))");
  EXPECT_EQ(translated("^a$"), "(?m)^a$");
  EXPECT_EQ(translated("[^$]\\$"), "[^$]\\$");
  EXPECT_EQ(translated("[]a]"), "[]a]");
  EXPECT_EQ(translated("[[:alpha:]x]"), "[[:alpha:]x]");
  // Vowel signs are word characters.
  EXPECT_TRUE(contains(translated(R"(\w)"), R"([\p{L}\p{Nl}\p{M})"));
  EXPECT_TRUE(contains(translated(R"([\w-])"), R"([\p{L}\p{Nl}\p{M})"));
  EXPECT_TRUE(contains(translated(R"(\W)"), R"([^\p{L})"));
  EXPECT_TRUE(contains(translated(R"(\b)"), "(?<="));
}

TEST(TokenizerRegex, RefusesWhatTheEnginesReadDifferently) {
  for (const char* regex : {R"(\h)", R"([\h])", R"(\G)", "[a&&b]", "[a[bc]]", "(?~x)", "(?m:.)"})
    EXPECT_TRUE(contains(error_of(kUnsupported, [&] { translated(regex); }),
                         "pre_tokenizer.pattern.Regex of tokenizer.json has"))
        << regex;
  const Json none = {{"Other", 1}};
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { pattern_of(Part(none, "p")); }),
                       "p.Regex is null, need a text"));
}

TEST(TokenizerRegex, ReplacesByExactTexts) {
  const Json dollar = "$1", reference = "\\1";
  EXPECT_EQ(replacement(Part(dollar, "content")), "$$1");
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { replacement(Part(reference, "content")); }),
                       "a backslash before a digit"));
}

TEST(TokenizerRegex, SplitsCharacters) {
  EXPECT_EQ(characters_of("a\u00e9\u2581"), (std::vector<std::string>{"a", "\u00e9", "\u2581"}));
  EXPECT_EQ(characters_of("\xFF\xE2").size(), 1u);  // cut: no more bytes than there are
}

}  // namespace
}  // namespace slipway::openvino

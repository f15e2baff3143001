// Merges: what they make of a text, and what never happens.
#include "backends/openvino/tokenizer_bpe.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"

namespace slipway::openvino {
namespace {

BytePairs pairs_of(const Json& model, Alphabet alphabet) {
  const Part part(model, "model");
  return BytePairs::from(part, Vocabulary::from(part), alphabet);
}

Json letters(const Json& merges) {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"ca", 6}}},
          {"merges", merges}};
}

TEST(TokenizerBpe, MergesByRank) {
  const BytePairs pairs = pairs_of(letters({"b c", "a b", "a bc"}), Alphabet::kCharacters);
  EXPECT_EQ(pairs.encode("abc", Alphabet::kCharacters), (std::vector<int64_t>{5}));
  EXPECT_EQ(pairs.encode("abab", Alphabet::kCharacters), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(pairs.encode("", Alphabet::kCharacters), (std::vector<int64_t>{}));
  EXPECT_EQ(pairs.encode("ax", Alphabet::kCharacters), (std::vector<int64_t>{}));
}

TEST(TokenizerBpe, LeavesOutWhatNeverHappens) {
  // No merge gives "ab", so the merge that needs it is none; "ca" stands in the vocabulary only.
  const BytePairs pairs = pairs_of(letters({"ab c", "b c"}), Alphabet::kCharacters);
  EXPECT_EQ(pairs.tokens, (std::vector<std::string>{"a", "b", "c", "", "bc", "", ""}));
  EXPECT_EQ(pairs.left, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(pairs.contains("bc"));
  EXPECT_FALSE(pairs.contains("ca"));
}

TEST(TokenizerBpe, ReadsBytesBehindTheirCharacters) {
  const Json model = {{"type", "BPE"},
                      {"vocab", {{"\u00c3", 0}, {"\u00a9", 1}, {"\u00c3\u00a9", 2}, {"\u0120", 3}}},
                      {"merges", Json::array({Json::array({"\u00c3", "\u00a9"})})}};
  const BytePairs pairs = pairs_of(model, Alphabet::kBytes);
  EXPECT_EQ(pairs.tokens, (std::vector<std::string>{"\xC3", "\xA9", "\u00e9", " "}));
  EXPECT_EQ(pairs.encode("\u00e9 ", Alphabet::kBytes), (std::vector<int64_t>{2, 3}));
}

TEST(TokenizerBpe, RefusesBrokenMerges) {
  const auto message = [](const Json& merges) {
    return error_of(kInvalid, [&] { pairs_of(letters(merges), Alphabet::kCharacters); });
  };
  EXPECT_TRUE(contains(message({"a x"}), "need tokens of the vocabulary, which \"x\" is not"));
  EXPECT_TRUE(contains(message({"a c"}), "which \"ac\" is not"));
  EXPECT_TRUE(contains(message({"abc"}), "model.merges[0] is the text \"abc\", need two tokens"));
  EXPECT_TRUE(contains(message({"a b c"}), "one space between them"));
  EXPECT_TRUE(contains(message(Json::array({Json::array({"a"})})), "need two tokens"));
  EXPECT_TRUE(contains(message(7), "model.merges is the number 7, need a list"));
}

}  // namespace
}  // namespace slipway::openvino

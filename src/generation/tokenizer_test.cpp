// Tests of the tokenizer bridge on a byte-level vocabulary of 263 tokens.
#include "generation/tokenizer.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "generation/tokenizer_fixture.h"

namespace slipway {
namespace {

using Ids = std::vector<int64_t>;

Tokenizer make(const Json& config = byte_level_config()) {
  return Tokenizer::from_json(byte_level_tokenizer().dump(),
                              TokenizerConfig::from_json(config, Json(), "config"), "tokenizer");
}

Ids values(const Tensor& tensor) {
  const auto span = tensor.values<int64_t>();
  return {span.begin(), span.end()};
}

TEST(Tokenizer, EncodesMergesBytesAndSpecialTokens) {
  const Tokenizer t = make();
  EXPECT_EQ(t.encode("hello").ids, (Ids{260, 259}));
  EXPECT_EQ(t.encode("hello", {.add_special_tokens = false}).ids, (Ids{259}));
  EXPECT_EQ(t.encode("hell \xC3\xA9").ids, (Ids{260, 258, 32, 0xC3, 0xA9}));
  EXPECT_EQ(t.encode("a</s>").ids, (Ids{260, 'a', 261}));
  EXPECT_EQ(t.encode("").ids, (Ids{260}));
  const Encoding row = t.encode("ab");
  EXPECT_EQ(row.type_ids, (Ids{0, 0, 0}));
  EXPECT_EQ(row.attention_mask, (Ids{1, 1, 1}));
}

TEST(Tokenizer, TheFilesOwnTruncationIsNotApplied) {
  EXPECT_EQ(make().encode("abcdef").ids.size(), 7u);  // the file says max_length 2
}

TEST(Tokenizer, PairsHaveTheirTypeIds) {
  const Encoding row = make().encode_pair("a", "bc");
  EXPECT_EQ(row.ids, (Ids{260, 'a', 260, 'b', 'c'}));
  EXPECT_EQ(row.type_ids, (Ids{0, 0, 1, 1, 1}));
}

TEST(Tokenizer, TruncationKeepsTheSpecialTokens) {
  const Tokenizer t = make();
  EXPECT_EQ(t.encode("abcd", {.max_length = 3}).ids, (Ids{260, 'a', 'b'}));
  EXPECT_EQ(t.encode("abcd", {.max_length = 3, .truncation_side = Side::kLeft}).ids,
            (Ids{260, 'c', 'd'}));
  EXPECT_EQ(t.encode("abcd", {.add_special_tokens = false, .max_length = 3}).ids,
            (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(t.encode("ab", {.max_length = 9}).ids, (Ids{260, 'a', 'b'}));
  EXPECT_EQ(t.encode_pair("abc", "d", {.max_length = 4}).ids, (Ids{260, 'a', 260, 'd'}));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { t.encode_pair("a", "b", {.max_length = 1}); }),
                       "at least 2"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { t.encode("a", {.max_length = 0}); }), "at least 1"));
}

TEST(Tokenizer, BatchesArePaddedOnTheAskedSide) {
  const std::vector<std::string> texts = {"a", "hello b"};
  const EncodedBatch right = make().encode_batch(texts);
  EXPECT_EQ(right.input_ids.shape(), (Shape{2, 4}));
  EXPECT_EQ(values(right.input_ids), (Ids{260, 'a', 262, 262, 260, 259, ' ', 'b'}));
  EXPECT_EQ(values(right.attention_mask), (Ids{1, 1, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(values(right.token_type_ids), Ids(8, 0));

  BatchOptions left;
  left.padding_side = Side::kLeft;
  left.pad_id = 7;
  EXPECT_EQ(values(make().encode_batch(texts, left).input_ids),
            (Ids{7, 7, 260, 'a', 260, 259, ' ', 'b'}));
  Json config = byte_level_config();
  config["padding_side"] = "left";
  EXPECT_EQ(values(make(config).encode_batch(texts).input_ids).front(), 262);
  EXPECT_EQ(make().encode_batch({}).input_ids.shape(), (Shape{0, 0}));
}

TEST(Tokenizer, PaddingNeedsAPadToken) {
  const Tokenizer t = make({{"eos_token", "</s>"}});
  const std::vector<std::string> differ = {"a", "bc"}, same = {"a", "b"};
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { t.encode_batch(differ); }), "no pad token"));
  EXPECT_EQ(t.encode_batch(same).input_ids.shape(), (Shape{2, 2}));
}

TEST(Tokenizer, DecodesAndSkipsSpecialTokens) {
  const Tokenizer t = make();
  const Ids ids = {260, 259, ' ', 0xC3, 0xA9, 261};
  EXPECT_EQ(t.decode(ids, SpecialTokens::kSkip), "hello \xC3\xA9");
  EXPECT_EQ(t.decode(ids, SpecialTokens::kKeep), "<s>hello \xC3\xA9</s>");
  EXPECT_EQ(t.decode({}, SpecialTokens::kSkip), "");
  const Ids unknown = {'a', 5000, 'b'}, negative = {-1}, huge = {int64_t{1} << 32};
  EXPECT_EQ(t.decode(unknown, SpecialTokens::kSkip), "ab");
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { t.decode(negative, SpecialTokens::kSkip); }), "-1"));
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { t.decode(huge, SpecialTokens::kSkip); }), "4294967296"));
}

TEST(Tokenizer, StreamWaitsForWholeCharacters) {
  TextStream stream = make().stream(SpecialTokens::kSkip);
  std::vector<std::string> pieces;
  for (int64_t id : {260, 259, 0xF0, 0x9F, 0x98, 0x80, 0x21, 261})
    pieces.push_back(stream.push(id));
  EXPECT_EQ(pieces,
            (std::vector<std::string>{"", "hello", "", "", "", "\xF0\x9F\x98\x80", "!", ""}));
  EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizer, StreamGivesWhatIsIncompleteAtTheEnd) {
  TextStream stream = make().stream(SpecialTokens::kSkip);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xE4), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push('b'), "b");
  EXPECT_EQ(stream.push(0xE4), "");
  EXPECT_EQ(stream.push('c'),
            "\xEF\xBF\xBD"
            "c");
}

TEST(Tokenizer, StreamJoinedIsTheWholeText) {
  const Tokenizer t = make();
  const std::string text = "hello \xE6\x97\xA5\xE6\x9C\xAC hell\xC3\xB6 \xF0\x9F\x98\x80\n";
  const Ids ids = t.encode(text).ids;
  TextStream stream = t.stream(SpecialTokens::kSkip);
  std::string joined;
  for (int64_t id : ids) joined += stream.push(id);
  EXPECT_EQ(joined + stream.finish(), text);
}

TEST(Tokenizer, LooksTokensUp) {
  const Tokenizer t = make();
  EXPECT_EQ(t.vocab_size(), 263);
  EXPECT_EQ(t.max_id(), 262);
  EXPECT_EQ(t.bos_id(), 260);
  EXPECT_EQ(t.eos_id(), 261);
  EXPECT_EQ(t.pad_id(), 262);
  EXPECT_EQ(t.special_id("mask_token"), std::nullopt);
  EXPECT_EQ(t.token_to_id("hello"), 259);
  EXPECT_EQ(t.token_to_id("nothing"), std::nullopt);
  EXPECT_EQ(t.id_to_token(258), "hell");
  EXPECT_EQ(t.id_to_token(263), std::nullopt);
}

TEST(Tokenizer, TokensOfTheConfigurationJoinTheVocabulary) {
  Json config = byte_level_config();
  config["mask_token"] = "<mask>";
  config["added_tokens_decoder"] = {{"263", {{"content", "<tool>"}, {"special", false}}}};
  const Tokenizer t = make(config);
  EXPECT_EQ(t.encode("<tool><mask>").ids, (Ids{260, 263, 264}));
  const Ids ids = {263, 264};
  EXPECT_EQ(t.decode(ids, SpecialTokens::kSkip), "<tool>");

  config["added_tokens_decoder"] = {{"300", {{"content", "<tool>"}}}};
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { make(config); }), "has id 263, need 300"));
}

TEST(Tokenizer, TextsKeepNulBytesAndMustBeUtf8) {
  const Tokenizer t = make();
  const std::string nul("a\0b", 3);
  const Ids ids = t.encode(nul).ids;
  EXPECT_EQ(ids, (Ids{260, 'a', 0, 'b'}));
  EXPECT_EQ(t.decode(ids, SpecialTokens::kSkip), nul);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { t.encode("ab\xFFz"); }), "not UTF-8 from byte 2"));
}

TEST(Tokenizer, ReadsADirectory) {
  TestFolder directory;
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { Tokenizer::from_directory(directory.path()); }),
                       "no tokenizer.json"));
  directory.write("tokenizer.json", byte_level_tokenizer().dump());
  EXPECT_EQ(Tokenizer::from_directory(directory.path()).eos_id(), std::nullopt);
  directory.write("tokenizer_config.json", byte_level_config().dump());
  EXPECT_EQ(Tokenizer::from_directory(directory.path()).eos_id(), 261);
}

TEST(Tokenizer, RefusesFilesThatAreNoTokenizer) {
  const std::string whole = byte_level_tokenizer().dump();
  TestFolder directory;
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("{\"model\": 3}"),
        whole.substr(0, whole.size() / 2), std::string("\xFF\xFE"), std::string(100000, '[')}) {
    directory.write("tokenizer.json", text);
    const std::string error =
        error_of(kInvalid, [&] { Tokenizer::from_directory(directory.path()); });
    EXPECT_TRUE(contains(error, "not a tokenizer that can be read"));
    EXPECT_TRUE(contains(error, "tokenizer.json"));
  }
}

}  // namespace
}  // namespace slipway

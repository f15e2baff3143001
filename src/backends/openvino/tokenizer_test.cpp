// Tokenizers as IR: files, what is refused and by which name, what is broken.
#include "backends/openvino/tokenizer.h"

#include <gtest/gtest.h>

#include "backends/openvino/tokenizer_steps.h"
#include "base/test_expect.h"
#include "base/test_folder.h"

namespace slipway::openvino {
namespace {

Json token(int64_t id, const std::string& content) {
  return {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}};
}

/// Byte-pair encoding over three letters.
Json letters() {
  return {{"added_tokens", Json::array({token(4, "<s>")})},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}}},
            {"merges", Json::array({"a b"})}}}};
}

class OpenVINOTokenizer : public testing::Test {
 protected:
  void write(const Json& json, const TokenizerOptions& options = {}) const {
    write_tokenizer(json, options, folder_.path());
  }
  std::string refused(const std::string& pointer, const Json& value,
                      ErrorKind kind = kUnsupported) const {
    Json json = letters();
    json[Json::json_pointer(pointer)] = value;
    const std::string message = error_of(kind, [&] { write(json); });
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << pointer;
    return message;
  }
  std::string text(const std::string& name) const { return TestFolder::read(folder_ / name); }

  TestFolder folder_;
};

TEST_F(OpenVINOTokenizer, WritesFourFilesWithTheSameBytes) {
  TokenizerOptions options;
  options.eos_id = 4;
  options.chat_template = "{% if a < b %}\n\"x\"{% endif %}";
  write(letters(), options);
  const std::string names[] = {"openvino_tokenizer.xml", "openvino_tokenizer.bin",
                               "openvino_detokenizer.xml", "openvino_detokenizer.bin"};
  std::vector<std::string> first;
  for (const std::string& name : names) first.push_back(text(name));
  write(letters(), options);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(text(names[i]), first[i]) << names[i];
  for (const char* part :
       {"type=\"SpecialTokensSplit\"", "type=\"BPETokenizer\"", "type=\"Truncate\"",
        "names=\"input_ids\"", "names=\"attention_mask\"", "<eos_token_id value=\"4\" />",
        "openvino_tokenizers_version", "{% if a &lt; b %}&#10;&quot;x&quot;{% endif %}"})
    EXPECT_TRUE(contains(first[0], part));
  EXPECT_EQ(first[0].find("token_type_ids"), std::string::npos);
  EXPECT_EQ(first[0].find("bos_token_id"), std::string::npos);
  EXPECT_TRUE(contains(first[2], "names=\"string_output\""));
}

TEST_F(OpenVINOTokenizer, PaddingSideAndTypesAreOptions) {
  TokenizerOptions options;
  options.post.padding = End::kLeft;
  options.post.type_ids = true;
  write(letters(), options);
  EXPECT_TRUE(contains(text("openvino_tokenizer.xml"), "pad_right=\"false\""));
  EXPECT_TRUE(contains(text("openvino_tokenizer.xml"), "names=\"token_type_ids\""));
}

TEST_F(OpenVINOTokenizer, NamesWhatTheOpsCannotDo) {
  EXPECT_TRUE(contains(refused("/normalizer", {{"type", "Nmt"}}),
                       "normalizer (Nmt) of tokenizer.json has no counterpart"));
  EXPECT_TRUE(contains(
      refused("/pre_tokenizer",
              {{"type", "Sequence"}, {"pretokenizers", {{{"type", "UnicodeScripts"}}}}}),
      "pre_tokenizer.pretokenizers[0] (UnicodeScripts) of tokenizer.json has no counterpart"));
  EXPECT_TRUE(contains(refused("/decoder", {{"type", "CTC"}}), "decoder (CTC)"));
  EXPECT_TRUE(contains(refused("/post_processor", {{"type", "Other"}}), "post_processor (Other)"));
  EXPECT_TRUE(contains(refused("/model/type", "WordLevel"), "model (WordLevel)"));
  EXPECT_TRUE(contains(refused("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix"));
  EXPECT_TRUE(contains(refused("/model/dropout", 0.1), "model.dropout"));
  EXPECT_TRUE(contains(refused("/model/unk_token", "a"), "one for each of their bytes"));
  Json word = token(4, "<s>");
  word["single_word"] = true;
  EXPECT_TRUE(contains(refused("/added_tokens/0", word), "\"<s>\" is a token as a whole word"));
  Json json = letters();
  json["normalizer"] = {{"type", "Lowercase"}};
  json["added_tokens"][0]["normalized"] = true;
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { write(json); }),
                       "may change the added token \"<s>\" too; give that token normalized"));
}

TEST_F(OpenVINOTokenizer, ChecksWhatItReads) {
  EXPECT_TRUE(contains(refused("/model", 3, kInvalid), "model.vocab is null, need an object"));
  EXPECT_TRUE(contains(refused("/model/vocab/a", -1, kInvalid), "need an integer from 0"));
  EXPECT_TRUE(contains(refused("/model/vocab/a", 1 << 30, kInvalid), "a token id below 2^24"));
  EXPECT_TRUE(contains(refused("/added_tokens/0/id", 1 << 30, kInvalid), "added_tokens[0].id"));
  EXPECT_TRUE(contains(refused("/added_tokens/0/content", 5, kInvalid), "need a text"));
  EXPECT_TRUE(contains(refused("/normalizer", "NFC", kInvalid), "normalizer.type is null"));
  EXPECT_TRUE(contains(
      refused("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "?"}}, kInvalid),
      "precompiled_charsmap is the text \"?\", need base64"));
  EXPECT_TRUE(contains(
      refused("/model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", {{"a", 0}}}},
              kInvalid),
      "model.unk_token is the text \"[UNK]\", need a token of the vocabulary"));
  EXPECT_TRUE(contains(
      refused(
          "/model",
          {{"type", "Unigram"}, {"unk_id", 9}, {"vocab", Json::array({Json::array({"a", -1.5})})}},
          kInvalid),
      "model.unk_id is the number 9, need an id of the vocabulary"));
  EXPECT_TRUE(contains(
      refused("/post_processor",
              {{"type", "TemplateProcessing"}, {"single", Json::array()}, {"pair", Json::array()}},
              kInvalid),
      "post_processor.single is a list of 0, need one text"));
}

TEST_F(OpenVINOTokenizer, DecodersActOnTheVocabulary) {
  Json json = letters();
  json["model"]["vocab"] = {{"\u2581a", 0}, {"<0x0A>", 1}, {"b", 2}};
  json["model"]["merges"] = Json::array();
  json["added_tokens"] = Json::array();
  json["decoder"] = {{"type", "Sequence"},
                     {"decoders",
                      {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                       {{"type", "ByteFallback"}},
                       {{"type", "Fuse"}},
                       {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  write(json);
  EXPECT_TRUE(contains(text("openvino_detokenizer.bin"), " a\nb"));
  EXPECT_TRUE(contains(text("openvino_detokenizer.bin"), R"(^(?:\x{20}){1,1})"));
}

TEST(OpenVINOTemplates, GiveOneTextAndAPair) {
  const Json bert = {{"type", "BertProcessing"},
                     {"sep", Json::array({"[SEP]", 3})},
                     {"cls", Json::array({"[CLS]", 2})}};
  EXPECT_EQ(Templates::from(Part(bert, "p")).json(),
            R"({"single":{"ids":[2,-1,3],"type_ids":[0,0,0]},)"
            R"("pair":{"ids":[2,-1,3,-2,3],"type_ids":[0,0,0,1,1]}})");
  Json roberta = bert;
  roberta["type"] = "RobertaProcessing";
  EXPECT_TRUE(contains(Templates::from(Part(roberta, "p")).json(),
                       R"("pair":{"ids":[2,-1,3,3,-2,3],"type_ids":[0,0,0,0,0,0]})"));
  const Json none;
  EXPECT_TRUE(contains(Templates::from(Part(none, "p")).json(), R"("single":{"ids":[-1])"));
}

}  // namespace
}  // namespace slipway::openvino

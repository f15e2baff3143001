// Tokenizer files rebuilt from GGUF metadata.
#include "checkpoint/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/gguf_test_file.h"

namespace slipway {
namespace {

std::string contents(const GgufTestFile& f, const std::string& name) {
  for (const CompanionFile& file : gguf_tokenizer_files(*f.parse()))
    if (file.name == name) return std::get<std::string>(file.source);
  return "(absent)";
}

Json tokenizer(const GgufTestFile& f) {
  return parse_json(contents(f, "tokenizer.json"), "tokenizer.json");
}

std::string tokenizer_error(const GgufTestFile& f) {
  return error_of([&] { gguf_tokenizer_files(*f.parse()); });
}

GgufTestFile byte_level(const std::vector<std::string>& tokens, const std::vector<int32_t>& types,
                        const std::vector<std::string>& merges = {}) {
  GgufTestFile f;
  f.text("general.architecture", "llama").text("tokenizer.ggml.model", "gpt2");
  f.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", merges);
  f.array<int32_t>("tokenizer.ggml.token_type", GgufType::kI32, types);
  return f;
}

GgufTestFile sentencepiece(const std::vector<std::string>& tokens,
                           const std::vector<float>& scores) {
  GgufTestFile f;
  f.text("general.architecture", "llama").text("tokenizer.ggml.model", "llama");
  f.texts("tokenizer.ggml.tokens", tokens);
  f.array<float>("tokenizer.ggml.scores", GgufType::kF32, scores);
  return f;
}

TEST(GgufTokenizer, ByteLevel) {
  // Token 3 is normal but spelled in plain text, token 4 is added and keeps its text.
  GgufTestFile f = byte_level({"a", "\xc4\xa0",
                               "\xc4\xa0"
                               "a",
                               "x \xc3\xa9", "<|\xe2\x96\x81|>", "<t>"},
                              {1, 1, 1, 1, 3, 4}, {"\xc4\xa0 a"});
  f.text("tokenizer.ggml.pre", "smollm").u32("tokenizer.ggml.eos_token_id", 4);
  f.text("tokenizer.chat_template", "{{ x }}");
  const Json json = tokenizer(f);
  EXPECT_EQ(json["model"]["vocab"].dump(),
            "{\"a\":0,\"\xc4\xa0\":1,\"\xc4\xa0"
            "a\":2,\"x\xc4\xa0\xc3\x83\xc2\xa9\":3,"
            "\"<|\xe2\x96\x81|>\":4,\"<t>\":5}");
  EXPECT_EQ(json["model"]["merges"].dump(), "[[\"\xc4\xa0\",\"a\"]]");
  EXPECT_EQ(json["model"]["byte_fallback"], false);
  ASSERT_EQ(json["added_tokens"].size(), 2u);
  EXPECT_EQ(json["added_tokens"][0]["id"], 4);
  EXPECT_EQ(json["added_tokens"][0]["special"], true);
  EXPECT_EQ(json["added_tokens"][1]["content"], "<t>");
  EXPECT_EQ(json["added_tokens"][1]["special"], false);
  EXPECT_EQ(json["pre_tokenizer"]["use_regex"], true);
  EXPECT_EQ(json["post_processor"]["single"].size(), 1u);  // no begin token
  EXPECT_EQ(contents(f, "chat_template.jinja"), "{{ x }}");
  const Json config = parse_json(contents(f, "tokenizer_config.json"), "config");
  EXPECT_EQ(config["eos_token"], "<|\xe2\x96\x81|>");
  EXPECT_EQ(config["add_bos_token"], false);
  EXPECT_FALSE(config.contains("bos_token"));
  EXPECT_EQ(parse_json(contents(f, "special_tokens_map.json"), "map").size(), 1u);
}

TEST(GgufTokenizer, AddsBeginAndEndTokensWhenAsked) {
  GgufTestFile f = byte_level({"a", "<s>", "</s>"}, {1, 3, 3});
  f.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  f.boolean("tokenizer.ggml.add_bos_token", true).boolean("tokenizer.ggml.add_eos_token", true);
  const Json post = tokenizer(f)["post_processor"];
  ASSERT_EQ(post["single"].size(), 3u);
  EXPECT_EQ(post["single"][0].dump(), R"({"SpecialToken":{"id":"<s>","type_id":0}})");
  EXPECT_EQ(post["single"][2]["SpecialToken"]["id"], "</s>");
  EXPECT_EQ(post["pair"].size(), 6u);
  EXPECT_EQ(post["pair"][4]["Sequence"]["type_id"], 1);
  EXPECT_EQ(post["special_tokens"]["<s>"]["ids"].dump(), "[1]");

  GgufTestFile without = byte_level({"a"}, {1});
  without.boolean("tokenizer.ggml.add_bos_token", true);
  EXPECT_NE(tokenizer_error(without).find("without a tokenizer.ggml.bos_token_id"),
            std::string::npos);
}

TEST(GgufTokenizer, SplitsTextAsThePreTokenizerSays) {
  EXPECT_EQ(gguf_pre_tokenizer("gpt-2", "f")["type"], "ByteLevel");
  for (const char* pre : {"llama-bpe", "qwen2", "tekken"}) {
    const Json json = gguf_pre_tokenizer(pre, "f");
    ASSERT_EQ(json["pretokenizers"].size(), 2u) << pre;
    EXPECT_EQ(json["pretokenizers"][0]["behavior"], "Isolated");
    EXPECT_EQ(json["pretokenizers"][1]["use_regex"], false);
  }
  const auto pattern = [](const char* pre) {
    return gguf_pre_tokenizer(pre, "f")["pretokenizers"][0]["pattern"]["Regex"].get<std::string>();
  };
  EXPECT_NE(pattern("llama-bpe").find(R"(\p{N}{1,3})"), std::string::npos);
  EXPECT_EQ(pattern("qwen2").find(R"(\p{N}{1,3})"), std::string::npos);
  EXPECT_EQ(error_of([] { gguf_pre_tokenizer("viking", "f"); }).substr(0, 68),
            "unsupported: [gguf] f: tokenizer.ggml.pre: got \"viking\", supported: ");
}

TEST(GgufTokenizer, SentencepieceMergesFollowTheScores) {
  // "abc" is cut in two ways; "ab" has the higher score and comes first.
  GgufTestFile f = sentencepiece({"a", "b", "c", "ab", "bc", "abc", "\xe2\x96\x81",
                                  "\xe2\x96\x81"
                                  "a"},
                                 {0, 0, 0, -1, -3, -2, 0, -4});
  const Json json = tokenizer(f);
  EXPECT_EQ(json["model"]["merges"].dump(),
            "[[\"a\",\"b\"],[\"ab\",\"c\"],[\"a\",\"bc\"],[\"b\",\"c\"],[\"\xe2\x96\x81\",\"a\"]]");
  EXPECT_EQ(json["model"]["byte_fallback"], true);
  EXPECT_EQ(json["pre_tokenizer"]["prepend_scheme"], "first");
  EXPECT_EQ(json["decoder"]["decoders"].size(), 4u);
  f.boolean("tokenizer.ggml.add_space_prefix", false);
  EXPECT_EQ(tokenizer(f)["pre_tokenizer"]["prepend_scheme"], "never");
  EXPECT_EQ(tokenizer(f)["decoder"]["decoders"].size(), 3u);
}

TEST(GgufTokenizer, SentencepieceBeginsTextsUnlessItSaysOtherwise) {
  GgufTestFile f = sentencepiece({"<unk>", "<s>"}, {0, 0});
  f.u32("tokenizer.ggml.bos_token_id", 1);
  EXPECT_EQ(tokenizer(f)["post_processor"]["single"].size(), 2u);
  f.boolean("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(tokenizer(f)["post_processor"]["single"].size(), 1u);
}

TEST(GgufTokenizer, TheLastOfEqualTokensCounts) {
  const Json json = tokenizer(byte_level({"a", "b", "a"}, {1, 1, 1}));
  EXPECT_EQ(json["model"]["vocab"].dump(), R"({"b":1,"a":2})");
}

TEST(GgufTokenizer, NoTokenizerNoFiles) {
  GgufTestFile f;
  f.text("general.architecture", "llama");
  EXPECT_TRUE(gguf_tokenizer_files(*f.parse()).empty());
}

TEST(GgufTokenizer, RefusesBrokenVocabularies) {
  const auto has = [](const std::string& error, const std::string& part) {
    return error.find(part) != std::string::npos ? "" : error;
  };
  GgufTestFile model, id = byte_level({"a"}, {1}), kind = byte_level({"a"}, {9});
  model.text("general.architecture", "llama").text("tokenizer.ggml.model", "rwkv");
  EXPECT_EQ(has(tokenizer_error(model),
                "unsupported: [gguf] test.gguf: tokenizer.ggml.model: got "
                "\"rwkv\", supported: gpt2, llama"),
            "");
  id.u32("tokenizer.ggml.bos_token_id", 1);
  EXPECT_EQ(has(tokenizer_error(id), "got 1, need a token of the 1 there are"), "");
  EXPECT_EQ(has(tokenizer_error(kind), "got 9 for token 0, need 0 to 6"), "");
  EXPECT_EQ(has(tokenizer_error(byte_level({"a", "b"}, {1})), "got 1 entries for 2 tokens"), "");
  EXPECT_EQ(has(tokenizer_error(byte_level({}, {})), "got no tokens"), "");
  EXPECT_EQ(has(tokenizer_error(byte_level({"\xff"}, {1})), "not UTF-8"), "");
  for (const char* merge : {"ab", "a b c", " a", "a ", "a  b", ""})
    EXPECT_EQ(has(tokenizer_error(byte_level({"a", "b"}, {1, 1}, {merge})), "need two parts"), "");
  EXPECT_EQ(has(tokenizer_error(byte_level({"a", "b"}, {1, 1}, {"a b"})),
                "\"a\" + \"b\" needs the token \"ab\""),
            "");
  EXPECT_EQ(has(tokenizer_error(sentencepiece({"a", "b"}, {0})), "neither merges nor a score"), "");
  EXPECT_EQ(has(tokenizer_error(sentencepiece({"a"}, {NAN})), "finite numbers"), "");
  EXPECT_EQ(has(tokenizer_error(sentencepiece({std::string(600, 'a')}, {0})), "600 bytes"), "");
}

}  // namespace
}  // namespace slipway

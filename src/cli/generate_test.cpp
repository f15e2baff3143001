// slipway generate: settings as flags, conversations, batch files, and what each refuses.
#include <gtest/gtest.h>

#include <sstream>

#include "base/test_expect.h"
#include "checkpoint/safetensors.h"
#include "cli/test_tool.h"

namespace slipway::test {
namespace {

/// Words a to g have the ids 1 to 7; the word after each is the next one.
class GenerateTool : public testing::Test {
 protected:
  void SetUp() override {
    save_export(folder_, successor_decoder(), R"({"vocab_size": 8, "pad_token_id": 0})");
    folder_.write("generation_config.json", R"({"eos_token_id": 6, "max_new_tokens": 4})");
  }
  ToolResult generate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"generate", folder_.path().string()});
    return run_tool(arguments);
  }
  Json json(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const ToolResult result = generate(std::move(arguments));
    EXPECT_EQ(result.code, 0) << result.err << result.out;
    return result.json();
  }
  std::vector<Json> lines(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const ToolResult result = generate(std::move(arguments));
    EXPECT_EQ(result.code, 0) << result.err << result.out;
    std::istringstream text(result.out);
    std::vector<Json> all;
    for (std::string line; std::getline(text, line);) all.push_back(Json::parse(line));
    return all;
  }

  TestFolder folder_;
};

TEST_F(GenerateTool, FlagsWinOverFiles) {
  EXPECT_EQ(json({"--prompt", "a"})["new_ids"], Json::parse("[[2, 3, 4, 5]]"));
  EXPECT_EQ(json({"--prompt", "a", "--eos-token-id", "7,4"})["new_ids"],
            Json::parse("[[2, 3, 4]]"));
  EXPECT_EQ(json({"--prompt", "d", "--eos-token-id", "3", "--eos-token-id", "6"})["new_ids"],
            Json::parse("[[5, 6]]"));
  EXPECT_EQ(json({"--prompt", "d", "--min-new-tokens", "3"})["finish_reasons"],
            Json::parse(R"(["length"])"));
  const Json stopped = json({"--prompt", "a", "--stop", "d", "--stop", "x"});
  EXPECT_EQ(stopped["new_ids"], Json::parse("[[2, 3, 4]]"));
  EXPECT_EQ(stopped["finish_reasons"], Json::parse(R"(["stop"])"));
}

TEST_F(GenerateTool, WarnsOfSettingsItDoesNotKnow) {
  folder_.write(
      "generation_config.json",
      R"({"typical_p": 0.9, "bad_words_ids": [], "guidance_scale": 1.0, "max_new_tokens": 1})");
  const ToolResult result = generate({"--prompt", "a", "--eos-token-id", "6"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.err, "typical_p"));
  EXPECT_FALSE(contains(result.err, "bad_words_ids"));
  EXPECT_FALSE(contains(result.err, "guidance_scale"));
  EXPECT_FALSE(contains(result.err, "end token"));
  EXPECT_TRUE(contains(generate({"--prompt", "a"}).err, "names an end token"));
}

TEST_F(GenerateTool, SeedsRepeat) {
  const std::vector<std::string> flags = {"--prompt", "a", "--do-sample",  "--temperature",    "5",
                                          "--top-k",  "0", "--ignore-eos", "--max-new-tokens", "20",
                                          "--seed"};
  const auto with_seed = [&](const char* seed) {
    auto all = flags;
    all.emplace_back(seed);
    return json(all)["new_ids"];
  };
  EXPECT_EQ(with_seed("1"), with_seed("1"));
  EXPECT_NE(with_seed("1"), with_seed("2"));
  EXPECT_EQ(json({"--prompt", "a", "--do-sample", "--num-return-sequences", "3"})["text"].size(),
            3u);
}

TEST_F(GenerateTool, GreedyWinsOverAFileThatSamples) {
  folder_.write("generation_config.json",
                R"({"do_sample": true, "temperature": 100.0, "max_new_tokens": 30})");
  Json greedy = Json::array();
  for (int i = 0; i < 30; ++i) greedy.push_back((i + 2) % 8);
  EXPECT_EQ(json({"--prompt", "a", "--greedy"})["new_ids"][0], greedy);
  EXPECT_NE(json({"--prompt", "a"})["new_ids"][0], greedy);
}

TEST_F(GenerateTool, BeamsHaveScores) {
  const Json beams = json({"--prompt", "a", "--num-beams", "3", "--num-return-sequences", "2",
                           "--early-stopping", "never", "--length-penalty", "0.5"});
  EXPECT_EQ(beams["new_ids"][0], Json::parse("[2, 3, 4, 5]"));
  ASSERT_EQ(beams["scores"].size(), 2u);
  EXPECT_GT(beams["scores"][0], beams["scores"][1]);
  EXPECT_FALSE(json({"--prompt", "a"}).contains("scores"));
}

TEST_F(GenerateTool, PromptLookupTakesFewerCalls) {
  const std::vector<std::string> flags = {"--prompt", "a b c d e f g a b", "--ignore-eos",
                                          "--max-new-tokens", "5"};
  const Json plain = json(flags);
  auto more = flags;
  more.insert(more.end(), {"--prompt-lookup", "4"});
  const Json looked = json(more);
  EXPECT_EQ(looked["new_ids"], plain["new_ids"]);
  EXPECT_EQ(plain["forward_calls"], 5);
  EXPECT_LT(looked["forward_calls"], 5);
}

TEST_F(GenerateTool, TurnsBuildOnAnswers) {
  // The template joins the turns' words and adds the word b.
  const std::string talk = (folder_ / "talk.json").string();
  const Json two =
      json({"--chat", "a", "--chat", "d", "--max-new-tokens", "2", "--save-chat", talk});
  EXPECT_EQ(two["messages"], Json::parse(R"([
      {"role": "user", "content": "a"}, {"role": "assistant", "content": "c d"},
      {"role": "user", "content": "d"}, {"role": "assistant", "content": "c d"}])"));
  EXPECT_EQ(two["input_ids"], Json::parse("[[1, 3, 4, 4, 2]]"));
  EXPECT_EQ(Json::parse(TestFolder::read(talk)), two["messages"]);
  ASSERT_EQ(two["turns"].size(), 2u);
  EXPECT_EQ(two["turns"][0]["input_ids"], Json::parse("[[1, 2]]"));
  EXPECT_EQ(two["turns"][0]["text"], Json::parse(R"(["c d"])"));
  EXPECT_EQ(two["turns"][1]["input_ids"], two["input_ids"]);
  const Json more =
      json({"--chat-file", talk, "--system", "g", "--chat", "e", "--max-new-tokens", "1"});
  EXPECT_EQ(more["messages"].size(), 7u);
  EXPECT_EQ(more["input_ids"], Json::parse("[[7, 1, 3, 4, 4, 3, 4, 5, 2]]"));
  folder_.write("open.json", R"([{"role": "user", "content": "f"}])");
  EXPECT_EQ(json({"--chat-file", (folder_ / "open.json").string()})["input_ids"],
            Json::parse("[[6, 2]]"));
}

TEST_F(GenerateTool, RefusesBrokenConversations) {
  const auto error = [&](const std::string& text, int code) {
    const auto file = folder_.write("talk.json", text);
    const ToolResult result = generate({"--chat-file", file.string()});
    EXPECT_EQ(result.code, code);
    return result.err;
  };
  EXPECT_TRUE(contains(error("{}", 3), "need a list of messages"));
  EXPECT_TRUE(contains(error(R"([{"role": "user", "content": "a"}, 5])", 3), "message 2 of"));
  EXPECT_TRUE(contains(error(R"([{"role": "user", "content": null}])", 3), "content of message 1"));
  EXPECT_TRUE(contains(error(R"([{"role": "user", "content": [{"type": "text"}]}])", 3),
                       "is a list of 1, need a text"));
  EXPECT_TRUE(contains(error(R"([{"role": "assistant", "content": "a"}])", 2), "--chat"));
  EXPECT_TRUE(contains(error("[", 3), "talk.json"));
  folder_.write("talk.json", R"([{"role": "system", "content": "a"}])");
  EXPECT_EQ(
      generate({"--chat-file", (folder_ / "talk.json").string(), "--system", "b", "--chat", "c"})
          .code,
      2);
}

TEST_F(GenerateTool, BatchFilesInTheirOrder) {
  const std::string file = folder_.write("prompts.txt", "a b c\n\nd\r\na\ne e e e\n").string();
  for (const char* size : {"1", "3", "8"}) {
    const auto all = lines({"--batch-file", file, "--batch-size", size, "--max-new-tokens", "3"});
    ASSERT_EQ(all.size(), 4u);
    const Json want = Json::parse(R"([[1, [1, 2, 3], "d e f"], [3, [4], "e f"],
                                      [4, [1], "b c d"], [5, [5, 5, 5, 5], "f"]])");
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(all[i]["line"], want[i][0]);
      EXPECT_EQ(all[i]["input_ids"], want[i][1]);
      EXPECT_EQ(all[i]["text"][0], want[i][2]);
    }
    EXPECT_EQ(all[1]["finish_reasons"][0], "eos");
  }
  const ToolResult text = generate({"--batch-file", file, "--max-new-tokens", "1"});
  EXPECT_EQ(text.out, "--- line 1\nd\n--- line 3\ne\n--- line 4\nb\n--- line 5\nf\n");
}

TEST_F(GenerateTool, BatchSizesDoNotChangeSamples) {
  const std::string file = folder_.write("prompts.txt", "a b c\nd\na\ne e e e\ng\n").string();
  const auto texts = [&](const char* size) {
    Json all = Json::array();
    for (const Json& line :
         lines({"--batch-file", file, "--batch-size", size, "--do-sample", "--temperature", "4",
                "--num-return-sequences", "2", "--max-new-tokens", "9", "--ignore-eos"}))
      all.push_back(line["text"]);
    return all;
  };
  const Json one = texts("1");
  EXPECT_EQ(one[0].size(), 2u);
  EXPECT_EQ(texts("2"), one);
  EXPECT_EQ(texts("5"), one);
}

TEST_F(GenerateTool, JsonLinesOfPromptsAndConversations) {
  const std::string file = folder_
                               .write("lines.jsonl", R"({"prompt": "a b"}
{"messages": [{"role": "user", "content": "e"}]}
)")
                               .string();
  const auto all = lines({"--batch-file", file, "--max-new-tokens", "1"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["new_ids"], Json::parse("[[3]]"));
  EXPECT_EQ(all[1]["input_ids"], Json::parse("[5, 2]"));
}

TEST_F(GenerateTool, BrokenLinesAreNamedBeforeAnyWork) {
  const auto error = [&](const std::string& text) {
    const ToolResult result = generate({"--batch-file", folder_.write("lines.txt", text).string()});
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_TRUE(contains(error("{\"prompt\": \"a\"}\n\nb c\n"), "line 3 of"));
  EXPECT_TRUE(contains(error("{\"prompt\": 5}\n"), "\"prompt\" is the number 5"));
  EXPECT_TRUE(contains(error("{\"text\": \"a\"}\n"), "either \"prompt\" or \"messages\""));
  EXPECT_TRUE(contains(error("{\"messages\": [5]}\n"), "message 1 of"));
  const std::string unknown = error("{\"prompt\": \"a\"}\n{\"prompt\": \"b\", \"seed\": 1}\n");
  EXPECT_TRUE(contains(unknown, "line 2 of"));
  EXPECT_TRUE(contains(unknown, "got the key \"seed\""));
  EXPECT_TRUE(contains(error("a\nb \xC3\n"), "line 2 of"));
  EXPECT_TRUE(contains(error("\n \n"), "has no prompts"));
  EXPECT_TRUE(contains(generate({"--batch-file", "/nowhere/x"}).err, "/nowhere/x is no file"));
}

TEST_F(GenerateTool, ByteOrderMarksAreNoText) {
  const auto ids = [&](const std::string& text) {
    return lines({"--batch-file", folder_.write("lines.txt", "\xEF\xBB\xBF" + text).string(),
                  "--max-new-tokens", "1"})[0]["input_ids"];
  };
  EXPECT_EQ(ids("a b\n"), Json::parse("[1, 2]"));
  EXPECT_EQ(ids("{\"prompt\": \"a b\"}\n"), Json::parse("[1, 2]"));
}

TEST_F(GenerateTool, EmptyPromptsAreNumbered) {
  const ToolResult result = generate({"--prompt", "a", "--prompt", ""});
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(contains(result.err, "prompt 2 of 2 is empty"));
}

TEST_F(GenerateTool, StopStringsNeedATokenizer) {
  EXPECT_TRUE(contains(generate({"--prompt", "a", "--stop", "b \xC3"}).err, "--stop"));
  EXPECT_EQ(generate({"--prompt", "a", "--stop", "b \xC3"}).code, 3);
  const std::string file = (folder_ / "in.safetensors").string();
  write_safetensors(file, {{"input_ids", Tensor::of<int64_t>({1, 1}, {1})}});
  std::filesystem::remove(folder_ / "tokenizer.json");
  const ToolResult flag = generate({"--inputs", file, "--stop", "c"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_TRUE(contains(flag.err, "from --stop), which need tokenizer.json"));
  folder_.write("generation_config.json", R"({"eos_token_id": 6, "stop_strings": ["c"]})");
  EXPECT_TRUE(contains(generate({"--inputs", file}).err, "from generation_config.json)"));
}

TEST_F(GenerateTool, ConversationsThatCannotBeSavedAreNotHad) {
  const ToolResult folder = generate({"--chat", "a", "--save-chat", folder_.path().string()});
  EXPECT_EQ(folder.code, 3);
  EXPECT_EQ(folder.out, "");
  EXPECT_TRUE(contains(folder.err, "is a folder"));
  const std::string below = folder_.write("file", "x").string() + "/talk.json";
  const ToolResult file = generate({"--chat", "a", "--save-chat", below});
  EXPECT_EQ(file.code, 5) << file.err;
  EXPECT_EQ(file.out, "");
}

TEST_F(GenerateTool, StreamsOneRow) {
  EXPECT_EQ(generate({"--prompt", "a", "--stream"}).out,
            generate({"--prompt", "a", "--no-stream"}).out);
  EXPECT_EQ(generate({"--prompt", "a", "--stream", "--json"}).code, 2);
  EXPECT_EQ(generate({"--prompt", "a", "--prompt", "b", "--stream"}).code, 2);
  EXPECT_EQ(generate({"--prompt", "a", "--stream", "--no-stream"}).code, 2);
  const ToolResult beams = generate({"--prompt", "a", "--stream", "--num-beams", "2"});
  EXPECT_EQ(beams.code, 2);
  EXPECT_TRUE(contains(beams.err, "num_beams is 2"));
}

TEST_F(GenerateTool, NamesSettingsThatAreWrong) {
  const auto error = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--prompt", "a"});
    const ToolResult result = generate(flags);
    EXPECT_EQ(result.code, 3) << result.err;
    return result.err;
  };
  EXPECT_TRUE(contains(error({"--do-sample", "--temperature", "0"}), "temperature is 0"));
  EXPECT_TRUE(contains(error({"--do-sample", "--top-p", "1.5"}), "top_p is 1.5"));
  EXPECT_TRUE(contains(error({"--num-return-sequences", "2"}), "num_return_sequences is 2"));
  EXPECT_TRUE(contains(error({"--eos-token-id", "9"}), "eos_token_id has 9"));
  EXPECT_TRUE(contains(error({"--stop", ""}), "stop_strings"));
  EXPECT_EQ(generate({"--prompt", "a", "--early-stopping", "soon"}).code, 2);
  EXPECT_EQ(generate({"--prompt", "a", "--do-sample", "--greedy"}).code, 2);
  EXPECT_EQ(generate({"--prompt", "a", "--batch-file", "x"}).code, 2);
}

}  // namespace
}  // namespace slipway::test

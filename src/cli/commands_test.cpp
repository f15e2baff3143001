// The commands that run exports, on small exports made by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/system_memory.h"
#include "base/test_expect.h"
#include "checkpoint/safetensors.h"
#include "cli/test_tool.h"

namespace slipway {
namespace {

using test::run_tool;
using test::save_export;
using test::successor_decoder;
using test::ToolResult;
using test::word_encoder;

class ToolOnDecoder : public testing::Test {
 protected:
  ToolOnDecoder() {
    save_export(folder_, successor_decoder(),
                R"({"vocab_size": 8, "eos_token_id": 6, "pad_token_id": 0})");
  }
  ToolResult generate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"generate", folder_.path().string()});
    return run_tool(arguments);
  }

  TestFolder folder_;
};

TEST_F(ToolOnDecoder, PromptStreamsText) {
  const ToolResult result = generate({"--prompt", "a b"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "c"));
  EXPECT_EQ(result.out.back(), '\n');
}

TEST_F(ToolOnDecoder, JsonOfABatch) {
  const ToolResult result = generate({"--prompt", "a b c", "--prompt", "d", "--json"});
  ASSERT_EQ(result.code, 0) << result.err << result.out;
  const Json json = result.json();
  EXPECT_EQ(json["input_ids"], Json::parse("[[1, 2, 3], [4]]"));
  EXPECT_EQ(json["new_ids"], Json::parse("[[4, 5, 6], [5, 6, 0]]"));
  EXPECT_EQ(json["lengths"], Json::parse("[3, 2]"));
  EXPECT_EQ(json["finish_reasons"], Json::parse(R"(["eos", "eos"])"));
  EXPECT_EQ(json["text"].size(), 2u);
  ASSERT_EQ(json["first_step_top5"][0].size(), 5u);
  EXPECT_EQ(json["first_step_top5"][0][0], Json::parse("[4, 3.0]"));
  EXPECT_TRUE(json["tokens_per_second"].is_number());
}

TEST_F(ToolOnDecoder, IgnoresEndTokensWhenAsked) {
  const Json json =
      generate({"--prompt", "d", "--ignore-eos", "--max-new-tokens", "4", "--json"}).json();
  EXPECT_EQ(json["new_ids"], Json::parse("[[5, 6, 7, 0]]"));
  EXPECT_EQ(json["finish_reasons"][0], "length");
}

TEST_F(ToolOnDecoder, GenerationConfigEndsAndCounts) {
  folder_.write("generation_config.json", R"({"eos_token_id": [5], "max_new_tokens": 2})");
  EXPECT_EQ(generate({"--prompt", "a", "--json"}).json()["new_ids"], Json::parse("[[2, 3]]"));
  EXPECT_EQ(generate({"--prompt", "c", "--json"}).json()["new_ids"], Json::parse("[[4, 5]]"));
  EXPECT_EQ(generate({"--prompt", "a", "--max-new-tokens", "3", "--json"}).json()["new_ids"],
            Json::parse("[[2, 3, 4]]"));
}

TEST_F(ToolOnDecoder, ChatGoesThroughTheTemplate) {
  // The template of this export ends every conversation with the word b.
  const Json json = generate({"--chat", "e", "--max-new-tokens", "1", "--json"}).json();
  EXPECT_EQ(json["input_ids"], Json::parse("[[5, 2]]"));
  EXPECT_EQ(json["new_ids"], Json::parse("[[3]]"));
  const Json told =
      generate({"--system", "g", "--chat", "e", "--max-new-tokens", "1", "--json"}).json();
  EXPECT_EQ(told["input_ids"], Json::parse("[[7, 5, 2]]"));
  EXPECT_EQ(generate({"--system", "g", "--prompt", "e"}).code, 2);
}

TEST_F(ToolOnDecoder, InputsFromAFile) {
  const std::string file = (folder_ / "in.safetensors").string();
  write_safetensors(file, {{"input_ids", Tensor::of<int64_t>({2, 2}, {0, 3, 1, 2})},
                           {"attention_mask", Tensor::of<int64_t>({2, 2}, {0, 1, 1, 1})}});
  const Json json = generate({"--inputs", file, "--max-new-tokens", "2", "--json"}).json();
  EXPECT_EQ(json["new_ids"], Json::parse("[[4, 5], [3, 4]]"));
  // Without a tokenizer only ids are known.
  std::filesystem::remove(folder_ / "tokenizer.json");
  EXPECT_EQ(generate({"--inputs", file, "--max-new-tokens", "2", "--json"}).json()["text"],
            Json::parse("[null, null]"));
}

TEST_F(ToolOnDecoder, RefusesBadPrompts) {
  const ToolResult empty = generate({"--prompt", "", "--json"});
  EXPECT_EQ(empty.code, 3) << empty.out;
  EXPECT_TRUE(contains(empty.out, "empty"));
  EXPECT_EQ(generate({"--prompt", "a", "--chat", "b"}).code, 2);
  const std::string file = (folder_ / "in.safetensors").string();
  write_safetensors(file, {{"input_ids", Tensor::of<int64_t>({1, 2}, {3, 8})}});
  // Half of a character, as a shell may pass it.
  EXPECT_EQ(generate({"--prompt", "a \xC3"}).code, 3);
  const ToolResult broken = generate({"--chat", "a \xC3", "--json"});
  EXPECT_EQ(broken.code, 3) << broken.out;
  const ToolResult beyond = generate({"--inputs", file});
  EXPECT_EQ(beyond.code, 3);
  EXPECT_TRUE(contains(beyond.err, "8"));
}

TEST_F(ToolOnDecoder, RunWritesLeafNames) {
  const std::string in = (folder_ / "in.safetensors").string();
  const std::string out = (folder_ / "out.safetensors").string();
  write_safetensors(in, {{"input_ids", Tensor::of<int32_t>({1, 3}, {1, 2, 3})}});
  const ToolResult result =
      run_tool({"run", folder_.path().string(), "--inputs", in, "--outputs", out, "--json"});
  ASSERT_EQ(result.code, 0) << result.err << result.out;
  EXPECT_EQ(result.json()["outputs"][0]["name"], "logits");
  const auto outputs = read_safetensors(out);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs.at("logits").shape(), (Shape{1, 3, 8}));
  EXPECT_EQ(outputs.at("past_key_values.layers.0.keys").shape(), (Shape{1, 1, 3, 8}));
  EXPECT_EQ(run_tool({"run", folder_.path().string(), "--inputs", in, "--outputs", out,
                      "--component", "decode"})
                .code,
            2);
}

TEST_F(ToolOnDecoder, RunKnowsItsPlacesBefore) {
  const std::string in = (folder_ / "in.safetensors").string();
  write_safetensors(in, {{"input_ids", Tensor::of<int32_t>({1, 3}, {1, 2, 3})}});
  const auto run = [&](const std::string& out) {
    return run_tool({"run", folder_.path().string(), "--inputs", in, "--outputs", out});
  };
  EXPECT_TRUE(contains(run(folder_.path().string()).err, "is a folder"));
  Manifest manifest;
  manifest.export_format = "onnx";
  manifest.components.push_back({"prefill", "model.onnx", {}});
  manifest.components.push_back({"decode", "model.onnx", {}});
  folder_.write("export.json", manifest_text(manifest));
  const ToolResult several = run((folder_ / "out.safetensors").string());
  EXPECT_EQ(several.code, 2);
  EXPECT_TRUE(contains(several.err,
                       "has the components prefill, decode; choose one with "
                       "--component"));
}

TEST_F(ToolOnDecoder, BenchRefusesWhatTheSystemDoesNotHave) {
  if (available_memory().value_or(UINT64_MAX) > uint64_t{100} << 30)
    GTEST_SKIP() << "the system may have what is asked for";
  const ToolResult result = run_tool(
      {"bench", folder_.path().string(), "--prompt-length", "1048576", "--batch-size", "4096"});
  EXPECT_EQ(result.code, 5) << result.err;
  EXPECT_TRUE(contains(result.err, "bytes of memory, the system has"));
}

TEST_F(ToolOnDecoder, InspectTellsInputsAndOps) {
  const ToolResult text = run_tool({"inspect", folder_.path().string()});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "input_ids: int64[batch_size, sequence_length]"));
  const Json json = run_tool({"inspect", folder_.path().string(), "--json"}).json();
  EXPECT_EQ(json["kind"], "export");
  EXPECT_EQ(json["components"]["model"]["op_counts"]["onnx::Concat"], 1);
  EXPECT_EQ(run_tool({"inspect", (folder_ / "model.onnx").string(), "--json"}).json()["kind"],
            "onnx");
  EXPECT_EQ(run_tool({"embed", folder_.path().string(), "--text", "a"}).code, 4);
}

class ToolOnEncoder : public testing::Test {
 protected:
  ToolOnEncoder() { save_export(folder_, word_encoder(), R"({"vocab_size": 8})"); }
  ToolResult embed(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"embed", folder_.path().string(), "--json"});
    return run_tool(arguments);
  }
  TestFolder folder_;
};

TEST_F(ToolOnEncoder, PoolsAndNormalizes) {
  const ToolResult mean = embed({"--text", "a b c", "--text", "d"});
  ASSERT_EQ(mean.code, 0) << mean.err << mean.out;
  EXPECT_EQ(mean.json()["embeddings"], Json::parse("[[2.0, 1.0], [4.0, 1.0]]"));
  EXPECT_EQ(embed({"--text", "c b", "--pooling", "cls"}).json()["embeddings"],
            Json::parse("[[3.0, 1.0]]"));
  const Json unit = embed({"--text", "c", "--normalize"}).json()["embeddings"][0];
  EXPECT_NEAR(unit[0].get<double>(), 3 / std::sqrt(10.0), 1e-6);
}

TEST_F(ToolOnEncoder, TheExportsFilesDecide) {
  folder_.write("modules.json", R"([{"type": "x.Normalize", "path": "2_Normalize"}])");
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 1})");
  const Json cut = embed({"--text", "c d e"}).json()["embeddings"][0];
  EXPECT_NEAR(cut[0].get<double>(), 3 / std::sqrt(10.0), 1e-6);
  EXPECT_EQ(embed({"--text", "c", "--no-normalize"}).json()["embeddings"],
            Json::parse("[[3.0, 1.0]]"));
}

TEST_F(ToolOnEncoder, TextInBracketsIsText) {
  EXPECT_EQ(embed({"--text", "[b]", "--no-normalize"}).json()["embeddings"].size(), 1u);
  EXPECT_EQ(run_tool({"generate", folder_.path().string(), "--prompt", "a"}).code, 4);
}

TEST(InspectGraph, ParsesVerifiesPrints) {
  const TestFolder folder;
  const auto good = folder.write("good.txt", "graph(%x: f32[2]) {\n  %0 = aten::silu(%x)\n}\n");
  const ToolResult result = run_tool({"inspect", good.string()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "%0: f32[2] = aten::silu(%x)"));
  const auto bad = folder.write("bad.txt", "graph(%x: f32[2]) {\n  %0 = aten::silu(%y)\n}\n");
  const ToolResult wrong = run_tool({"inspect", bad.string()});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_TRUE(contains(wrong.err, "line 2"));
}

}  // namespace
}  // namespace slipway

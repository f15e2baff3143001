// The tool's errors: exit codes, JSON errors, help.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "cli/test_tool.h"

namespace slipway {
namespace {

using test::run_tool;
using test::ToolResult;

TEST(Usage, HelpAndVersion) {
  const ToolResult version = run_tool({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "slipway " SLIPWAY_VERSION "\n");
  EXPECT_TRUE(contains(run_tool({"--help"}).out, "Typical use"));
  for (const char* command :
       {"export", "run", "generate", "embed", "bench", "inspect", "models", "formats"}) {
    const ToolResult help = run_tool({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_TRUE(contains(help.out, std::string("slipway ") + command)) << command;
    EXPECT_TRUE(contains(help.out, "Example")) << command;
    EXPECT_TRUE(contains(help.out, "--json")) << command;
  }
}

TEST(Usage, MistakesAreExitCode2) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"launch"},
      {"export"},
      {"export", "x", "y", "--task", "poetry"},
      {"export", "x", "y", "--dtype", "fp7"},
      {"export", "x", "y", "--layout", "ollama"},
      {"export", "x", "y", "--opset", "many"},
      {"export", "x", "y", "--batch-size", "0", "--static"},
      {"export", "x", "y", "--static"},
      {"export", "x", "y", "--static", "--batch-size", "2"},
      {"export", "x", "y", "--batch-size", "2"},
      {"export", "x", "y", "--static", "--dynamic-shapes", "{}", "--batch-size", "1"},
      {"export", "x", "y", "--layout", "executorch-llm", "--static", "--batch-size", "1",
       "--sequence-length", "1"},
      {"export", "x", "y", "--layout", "executorch-llm", "--dynamic-shapes", "{}"},
      {"export", "x", "y", "--layout", "executorch-llm", "--generation"},
      {"export", "x", "y", "--layout", "executorch-llm", "--multi-token-decode"},
      {"export", "x", "y", "--layout", "optimum", "--static-cache", "32"},
      {"run", "x"},
      {"generate", "x"},
      {"generate", "x", "--max-new-tokens", "-1", "--prompt", "a"},
      {"generate", "x", "--seed", "-1", "--prompt", "a"},
      {"generate", "x", "--seed", "18446744073709551616", "--prompt", "a"},
      {"generate", "x", "--seed", "1.5", "--prompt", "a"},
      {"generate", "x", "--seed", "", "--prompt", "a"},
      {"bench", "x", "--prompt-length", "1048577"},
      {"bench", "x", "--new-tokens", "1048577"},
      {"bench", "x", "--batch-size", "4097"},
      {"bench", "x", "--threads", "257"},
      {"embed", "x"},
      {"embed", "x", "--text", "a", "--pooling", "max"},
      {"inspect"},
      {"models", "--log-level", "loud"},
      {"models", "extra"},
  };
  for (const auto& mistake : mistakes) {
    std::string line;
    for (const std::string& word : mistake) line += word + " ";
    const ToolResult result = run_tool(mistake);
    EXPECT_EQ(result.code, 2) << line << result.err;
    EXPECT_TRUE(contains(result.err, "slipway: [")) << line;
    EXPECT_EQ(result.out, "") << line;
    std::vector<std::string> as_json = mistake;
    as_json.push_back("--json");
    const Json error = run_tool(as_json).json();
    EXPECT_EQ(error["error"]["kind"], "usage") << line;
    EXPECT_FALSE(error["error"]["message"].get<std::string>().empty()) << line;
  }
}

TEST(Usage, ExportsForGenerationWithoutKernelsAreWrittenAndNotValidated) {
  const TestFolder folder;
  const std::string out = (folder.path() / "out").string();
  const ToolResult run =
      run_tool({"export", SLIPWAY_SOURCE_DIR "/tests/golden/models/llama-causal-lm", out,
                "--generation", "--dtype", "bf16"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "not validated"));
}

TEST(Usage, FlagsOfExecutorchAreRecordedAndBelongToItsFormat) {
  const TestFolder folder;
  const std::string model = SLIPWAY_SOURCE_DIR "/tests/golden/models/llama-causal-lm";
  const std::string out = (folder.path() / "out").string();
  const std::pair<const char*, const char*> fields[] = {
      {"--no-alloc-graph-input", "alloc_graph_input"},
      {"--no-alloc-graph-output", "alloc_graph_output"},
      {"--no-alloc-mutable-buffers", "alloc_mutable_buffers"}};
  for (const auto& [flag, field] : fields) {
    for (const char* format : {"onnx", "dynamo", "openvino"}) {
      const ToolResult other = run_tool({"export", model, out, "--format", format, flag});
      EXPECT_EQ(other.code, 2) << format << other.err;
      EXPECT_TRUE(contains(other.err, std::string(flag) + " is about ExecuTorch")) << other.err;
    }
    const ToolResult run = run_tool({"export", model, out, "--format", "executorch", flag});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(contains(run.out, "model.pte")) << run.out;
    const Json manifest = Json::parse(TestFolder::read(folder / "out" / "export.json"));
    const Json& config = manifest["components"].begin().value()["metadata"]["export_config"];
    for (const auto& [of, name] : fields) EXPECT_EQ(config[name], name != std::string(field));
  }
  EXPECT_EQ(run_tool({"export", model, out, "--backend", "xnnpack"}).code, 2);
  const ToolResult backend =
      run_tool({"export", model, out, "--format", "executorch", "--backend", "coreml"});
  EXPECT_EQ(backend.code, 4);
  EXPECT_TRUE(contains(backend.err, "coreml"));
}

TEST(Usage, OneFileForAllComponentsIsExecutorchs) {
  const TestFolder folder;
  const std::string model = SLIPWAY_SOURCE_DIR "/tests/golden/models/llama-causal-lm";
  const std::string out = (folder.path() / "out").string();
  for (const char* format : {"onnx", "dynamo", "openvino"}) {
    const ToolResult other =
        run_tool({"export", model, out, "--generation", "--format", format, "--single-file"});
    EXPECT_EQ(other.code, 2) << format << other.err;
    EXPECT_TRUE(contains(other.err, "--single-file is about ExecuTorch")) << other.err;
  }
  const std::vector<std::string> command = {
      "export", model, out, "--generation", "--format", "executorch", "--single-file", "--json"};
  std::vector<std::string> dry = command, apart = command;
  dry.emplace_back("--dry-run");
  apart = dry;
  std::erase(apart, "--single-file");
  const Json plan = run_tool(dry).json();
  EXPECT_NEAR(run_tool(apart).json()["data_bytes"].get<double>() / plan["data_bytes"].get<double>(),
              2, 0.01);  // small constants are no weights
  const ToolResult run = run_tool(command);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.json()["files"]["model.pte"].get<int64_t>(),
            plan["data_bytes"].get<int64_t>() + plan["model_bytes"].get<int64_t>());
  EXPECT_FALSE(run.json()["files"].contains("decode.pte"));
  const Json components = run_tool({"inspect", out, "--json"}).json()["components"];
  const Json file = run_tool({"inspect", out + "/model.pte", "--json"}).json();
  EXPECT_EQ(file["methods"].size(), 2u);
  for (const char* name : {"prefill", "decode"}) {
    EXPECT_EQ(components[name]["file"], "model.pte");
    EXPECT_EQ(components[name]["method"], name);
    EXPECT_EQ(components[name]["inputs"], run.json()["components"][name]["inputs"]);
    EXPECT_EQ(components[name]["op_counts"], file["methods"][name]["op_counts"]);
    EXPECT_TRUE(contains(run_tool({"inspect", out + "/model.pte"}).out,
                         "method " + std::string(name) + "\n"));
    EXPECT_TRUE(contains(run_tool({"inspect", out}).out,
                         fmt::format("component {0}: model.pte, method {0}, Llama", name)));
  }
  EXPECT_NE(components["prefill"]["inputs"], components["decode"]["inputs"]);
  // One component is one file anyway.
  EXPECT_EQ(run_tool({"export", model, out, "--format", "executorch", "--single-file"}).code, 0);
  EXPECT_FALSE(run_tool({"inspect", out + "/model.pte", "--json"}).json().contains("methods"));
}

TEST(Usage, ErrorsOfTheInputHaveTheirOwnCodes) {
  const TestFolder folder;
  folder.write("config.json", R"({"model_type": "perceptron"})");
  folder.write("model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  const ToolResult missing = run_tool({"export", "/nowhere", "/tmp/x", "--json"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.json()["error"]["kind"], "invalid");
  const ToolResult unknown = run_tool({"export", folder.path().string(), "/tmp/x", "--json"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_EQ(unknown.json()["error"]["kind"], "unsupported");
  EXPECT_TRUE(contains(unknown.out, "perceptron"));
  const ToolResult format =
      run_tool({"export", folder.path().string(), "/tmp/x", "--format", "tape"});
  EXPECT_EQ(format.code, 4);
  const std::vector<std::vector<std::string>> absent = {
      {"inspect", "/nowhere"},
      {"run", "/nowhere", "--inputs", "a", "--outputs", "b"},
      {"generate", "/nowhere", "--prompt", "a"},
      {"generate", "/nowhere", "--inputs", "a"},
      {"embed", "/nowhere", "--text", "a"},
      {"bench", "/nowhere"}};
  for (const auto& command : absent) {
    const ToolResult result = run_tool(command);
    EXPECT_EQ(result.code, 3) << command[0];
    EXPECT_TRUE(contains(result.err, "/nowhere")) << command[0];
    EXPECT_TRUE(contains(result.err, "does not exist")) << command[0];
  }
}

TEST(Usage, AClosedPipeIsNoFailure) {
  const TestFolder folder;
  const std::string code = (folder / "code").string();
  const std::string command = "{ sleep 0.2; " + test::shell_quoted(SLIPWAY_TOOL) +
                              " models; echo $? > " + test::shell_quoted(code) + "; } | true";
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (int i = 0; i < 100 && TestFolder::read(code) == "(absent)"; ++i) ::usleep(50'000);
  EXPECT_EQ(TestFolder::read(code), "0\n");
}

TEST(Usage, AFullOutputIsAnEnvironmentError) {
  const ToolResult result = run_tool({"models"}, "> /dev/full");
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(contains(result.err, "standard output"));
}

TEST(Lists, ModelsAndFormats) {
  const Json models = run_tool({"models", "--json"}).json()["models"];
  bool found = false;
  for (const Json& model : models) {
    if (model["model_type"] != "llama") continue;
    for (const Json& task : model["tasks"])
      found = found || (task["task"] == "text-generation-with-past" &&
                        task["architecture"] == "LlamaForCausalLM");
  }
  EXPECT_TRUE(found) << models;
  EXPECT_EQ(run_tool({"--json", "formats"}).json()["formats"],
            Json::array({"onnx", "dynamo", "openvino", "executorch"}));
  EXPECT_TRUE(contains(run_tool({"models"}).out, "bert\n"));
}

}  // namespace
}  // namespace slipway

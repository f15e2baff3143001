// PC-50 and the tool's promises: odd folder names, exports over other files, dry runs, exit codes.
#include <unistd.h>

#include "case_util.h"

namespace slipway::cases {
namespace {

TEST(FaultOutput, EveryFolderNameWorks) {
  const TestFolder t;
  const Inputs inputs = {{"input_ids", token_ids(2, 5)}};
  const Tensor want = export_checkpoint(golden::folder("llama-causal-lm"))(inputs)[0].second;
  for (const std::string& name :
       {std::string("with some spaces"), std::string("modèle à côté"), std::string("模型导出"),
        std::string("owner/name"), std::string("-leading"), std::string("quote'\"$x"),
        std::string("broken \xff byte"), std::string(200, 'n')}) {
    SCOPED_TRACE(name);
    const fs::path in = t / ("in " + fs::path(name).filename().string()), out = t / "a" / name;
    Draft::golden("llama-causal-lm").save(in);
    const ToolResult exported = run_tool({"export", in.string(), out.string(), "--json"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(exported.json().at("validated"), true);
    EXPECT_EQ(exported.json().at("files").size(), 4u);
    EXPECT_TRUE(same_bits(ExportedModel::from_pretrained(out)(inputs)[0].second, want));
    write_safetensors(out / "in.safetensors", inputs);
    const ToolResult run =
        run_tool({"run", out.string(), "--inputs", (out / "in.safetensors").string(), "--outputs",
                  (out / "result.safetensors").string()});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(same_bits(read_safetensors(out / "result.safetensors").at("logits"), want));
  }
}

TEST(FaultOutput, ANameThatLooksLikeAFlag) {
  const TestFolder t;
  const ToolResult result = run_tool(
      {"export", "--no-validate", "--", golden::folder("bert-base").string(), "-out"}, [&] {
        if (::chdir(t.path().c_str()) != 0) ::_exit(125);
      });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(fs::exists(t / "-out/model.onnx"));
}

// A folder is replaced as a whole: whoever works in it would stand in the old one.
TEST(FaultOutput, TheWorkingFolderIsRefused) {
  const TestFolder t;
  t.write("here/below/mine.txt", "mine");
  for (const char* out : {".", "..", "./"}) {
    const ToolResult result =
        run_tool({"export", "--no-validate", golden::folder("bert-base").string(), out}, [&] {
          if (::chdir((t / "here/below").c_str()) != 0) ::_exit(125);
        });
    EXPECT_EQ(result.code, 2) << out;
    EXPECT_TRUE(contains(result.err, "name a folder inside it"));
    EXPECT_TRUE(fs::exists(t / "here/below/mine.txt"));
  }
}

TEST(FaultOutput, ExportingIntoTheCheckpointKeepsIt) {
  const TestFolder t;
  Draft draft = Draft::golden("llama-causal-lm");
  draft.save(t / "model");
  t.write("model/README.md", "mine");
  t.write("model/original/notes", "mine too");
  const auto before = files_of(t / "model");
  const GraphBytes want = bytes_of(draft);
  for (int round = 0; round < 2; ++round) {
    const ToolResult result = run_tool({"export", (t / "model").string(), (t / "model").string()});
    ASSERT_EQ(result.code, 0) << result.err;
    auto after = files_of(t / "model");
    for (const char* own : {"model.onnx", "model.onnx.data", "export.json"})
      EXPECT_EQ(after.erase(own), 1u) << own;
    for (const auto& [name, contents] : before) {
      if (name == "config.json") continue;  // the export's own, which describes the same model
      EXPECT_TRUE(after.at(name) == contents) << name;
    }
    EXPECT_EQ(after.size(), before.size());
    EXPECT_TRUE(bytes_of(t / "model") == want) << "round " << round;
  }
  export_checkpoint(t / "model").save_pretrained(t / "again");
  EXPECT_TRUE(bytes_of(t / "again") == want) << "the checkpoint no longer opens as it was";
}

TEST(FaultOutput, ANewExportReplacesTheOlderOnesFilesOnly) {
  const TestFolder t;
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "out");
  t.write("out/notes.txt", "mine");
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "out");
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "fresh");
  auto files = files_of(t / "out");
  EXPECT_EQ(files["notes.txt"], "mine");
  files.erase("notes.txt");
  EXPECT_EQ(files.erase("generation_config.json"), 0u) << "a companion of the older model";
  EXPECT_TRUE(files == files_of(t / "fresh"));
}

TEST(FaultOutput, AnotherCheckpointsCompanionsStayInItsFolder) {
  const TestFolder t;
  fs::copy(golden::folder("llama-causal-lm"), t / "model");
  t.write("model/tokenizer.json", "the checkpoint's own");
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "model");
  export_checkpoint(golden::folder("bert-base")).save_pretrained(t / "model");
  EXPECT_EQ(files_of(t / "model")["tokenizer.json"], "the checkpoint's own");
}

TEST(FaultOutput, ADryRunWritesNothingAndKnowsTheSizes) {
  const TestFolder t;
  for (const char* name : {"llama-causal-lm", "bert-base"}) {
    const std::string in = golden::folder(name).string(), out = (t / name).string();
    const ToolResult dry = run_tool({"export", in, out, "--dry-run", "--json"});
    ASSERT_EQ(dry.code, 0) << dry.err;
    EXPECT_FALSE(fs::exists(out));
    const ToolResult wet = run_tool({"export", in, out, "--json"});
    ASSERT_EQ(wet.code, 0) << wet.err;
    EXPECT_EQ(dry.json().at("model_bytes"), fs::file_size(t / name / "model.onnx"));
    EXPECT_EQ(dry.json().at("data_bytes"), fs::file_size(t / name / "model.onnx.data"));
    EXPECT_EQ(dry.json().at("components"), wet.json().at("components"));
    const auto before = files_of(t.path());
    EXPECT_EQ(
        run_tool({"export", golden::folder("qwen3-causal-lm").string(), out, "--dry-run"}).code, 0);
    EXPECT_TRUE(files_of(t.path()) == before);
  }
  const TestFolder empty;
  EXPECT_EQ(run_tool({"export", golden::folder("bert-base").string(), "--dry-run"},
                     [&] {
                       if (::chdir(empty.path().c_str()) != 0) ::_exit(125);
                     })
                .code,
            0);
  EXPECT_TRUE(fs::is_empty(empty.path()));
}

TEST(FaultOutput, NothingIsWrittenElsewhere) {
  const TestFolder home, t;
  const auto here = [&] {
    for (const char* variable : {"HOME", "XDG_CACHE_HOME", "TMPDIR"})
      ::setenv(variable, home.path().c_str(), 1);
  };
  EXPECT_EQ(
      run_tool({"export", golden::folder("bert-base").string(), (t / "out").string()}, here).code,
      0);
  write_safetensors(t / "in", {{"input_ids", token_ids(1, 4)}});
  EXPECT_EQ(run_tool({"run", (t / "out").string(), "--inputs", (t / "in").string(), "--outputs",
                      (t / "result").string()},
                     here)
                .code,
            0);
  EXPECT_TRUE(fs::is_empty(home.path()))
      << "the tool or the runtime keeps files in the home folder";
}

/// An error as a script sees it: the exit code, and the kind in the JSON.
void expect_error(const std::vector<std::string>& arguments, int code, const std::string& kind,
                  const std::string& part) {
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const ToolResult text = run_tool(arguments), json = run_tool(with_json);
  EXPECT_EQ(text.code, code) << text.err;
  EXPECT_EQ(json.code, code) << json.out;
  EXPECT_TRUE(contains(text.err, part));
  EXPECT_EQ(text.out, "");
  EXPECT_EQ(json.json().at("error").at("kind"), kind);
  EXPECT_TRUE(contains(json.json().at("error").at("message").get<std::string>(), part));
}

TEST(FaultOutput, ExitCodes) {
  const TestFolder t;
  const std::string bert = golden::folder("bert-base").string(), out = (t / "out").string();
  expect_error({"export"}, 2, "usage", "CHECKPOINT");
  expect_error({"export", bert}, 2, "usage", "OUT is missing");
  expect_error({"export", bert, out, "--frobnicate"}, 2, "usage", "--frobnicate");
  expect_error({"export", bert, out, "--dynamic-shapes", "[1]"}, 2, "usage", "dynamic_shapes");
  expect_error({"export", (t / "absent").string(), out}, 3, "invalid", "absent does not exist");
  t.write("empty/README", "");
  expect_error({"export", (t / "empty").string(), out}, 3, "invalid", "config.json");
  t.write("broken/config.json", "{\"model_type\": \"llama\",");
  expect_error({"export", (t / "broken").string(), out}, 3, "invalid", "config.json");
  expect_error({"run", (t / "empty").string(), "--inputs", "a", "--outputs", "b"}, 3, "invalid",
               "a");
  Draft other = Draft::golden("bert-base");
  other.config["model_type"] = "gpt9";
  expect_error({"export", other.save(t / "gpt9").string(), out}, 4, "unsupported", "'gpt9'");
  expect_error({"export", bert, out, "--task", "text-generation"}, 4, "unsupported",
               "feature-extraction");
  expect_error({"export", bert, out, "--format", "parchment"}, 4, "unsupported", "onnx");
  expect_error({"export", bert, "/proc/nowhere"}, 5, "environment", "/proc");
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace slipway::cases

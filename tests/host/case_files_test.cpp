// PC-05, PC-07, PC-44: shards that are missing or wrong, files that were cut, folders that moved.
#include <unistd.h>

#include "case_util.h"

namespace slipway::cases {
namespace {

TEST(CaseFiles, ShardsAndOneFileExportTheSame) {
  const TestFolder t;
  const Draft draft = Draft::golden("llama-causal-lm");
  export_checkpoint(draft.save_sharded(t / "in", 3)).save_pretrained(t / "out");
  EXPECT_TRUE(bytes_of(t / "out") == bytes_of(draft));
}

TEST(CaseFiles, AMissingShardIsNamed) {
  const TestFolder t;
  const Draft draft = Draft::golden("llama-causal-lm");
  draft.save_sharded(t / "in", 3);
  fs::remove(t / "in" / Draft::shard_name(1));
  const std::string message = refused(t / "in", 3);
  EXPECT_TRUE(contains(message,
                       "shard-2.safetensors (should hold 7 tensors such as "
                       "model.layers.0.self_attn.k_proj.weight)"));
  EXPECT_TRUE(contains(message, "1 of 3 shards missing"));
}

TEST(CaseFiles, AShardWithoutItsTensorIsNamed) {
  const TestFolder t;
  Draft::golden("llama-causal-lm").save_sharded(t / "in", 3);
  Json index = parse_json_file(t / "in/model.safetensors.index.json");
  index["weight_map"]["model.norm.weight"] = "shard-1.safetensors";
  std::ofstream(t / "in/model.safetensors.index.json") << index.dump();
  const std::string message = refused(t / "in", 3);
  EXPECT_TRUE(contains(message, "shard-1.safetensors lacks 1 of the 8 tensors"));
  EXPECT_TRUE(contains(message, "model.norm.weight"));
}

TEST(CaseFiles, AnIndexThatLeavesTheFolderIsRefused) {
  const TestFolder t;
  Draft::golden("llama-causal-lm").save_sharded(t / "in/deep", 1);
  fs::copy_file(t / "in/deep/shard-1.safetensors", t / "in/shard-1.safetensors");
  Json index = parse_json_file(t / "in/deep/model.safetensors.index.json");
  index["weight_map"]["model.norm.weight"] = "../shard-1.safetensors";
  std::ofstream(t / "in/deep/model.safetensors.index.json") << index.dump();
  EXPECT_TRUE(contains(refused(t / "in/deep", 3), "../shard-1.safetensors"));
}

/// A file that was damaged, and what the message must say.
struct Damage {
  const char* name;
  std::function<std::string(std::string)> damage;
  std::vector<std::string> says;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void check_damages(const fs::path& checkpoint, const std::string& file) {
  const std::string whole = TestFolder::read(checkpoint / file);
  const std::string size = std::to_string(whole.size());
  // The first two tensors of the data, both of 128 x 32 floats.
  const std::string overlapping = R"("data_offsets":[16384,32768])";
  const std::vector<Damage> damages = {
      {"one byte short",
       [](std::string s) { return s.substr(0, s.size() - 1); },
       {std::to_string(whole.size() - 1), size}},
      {"one byte over",
       [](std::string s) { return s + "x"; },
       {std::to_string(whole.size() + 1), size}},
      {"cut inside the header", [](std::string s) { return s.substr(0, 100); }, {"100 bytes"}},
      {"cut inside the length", [](std::string s) { return s.substr(0, 5); }, {"5 bytes", "8"}},
      {"empty", [](const std::string&) { return std::string(); }, {"0 bytes"}},
      {"a pointer",
       [](const std::string&) {
         return "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123456\n";
       },
       {"pointer", "123456"}},
      {"overlapping",
       [&](std::string s) {
         return replaced(std::move(s), overlapping, R"("data_offsets":[16380,32764])");
       },
       {"overlap", "model.embed_tokens.weight"}},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    std::ofstream(checkpoint / file, std::ios::binary) << damage.damage(whole);
    const std::string message = refused(checkpoint, 3);
    EXPECT_TRUE(contains(message, file));
    for (const std::string& part : damage.says) EXPECT_TRUE(contains(message, part));
  }
}

TEST(CaseFiles, EveryDamageToTheFileIsRefused) {
  const TestFolder t;
  check_damages(Draft::golden("llama-causal-lm").save(t / "in"), "model.safetensors");
}

TEST(CaseFiles, EveryDamageToAShardIsRefused) {
  const TestFolder t;
  check_damages(Draft::golden("llama-causal-lm").save_sharded(t / "in", 2), "shard-1.safetensors");
}

Tensor logits_of(const ExportedModel& exported) {
  return by_name(exported({{"input_ids", token_ids(2, 5)}})).at("logits");
}

TEST(CaseFiles, AMovedExportRunsFromAnotherFolder) {
  const TestFolder t;
  const Tensor want = logits_of(export_checkpoint(golden::folder("llama-causal-lm")));
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "first");
  fs::create_directories(t / "else/where");
  fs::rename(t / "first", t / "else/second");
  EXPECT_TRUE(same_bits(logits_of(ExportedModel::from_pretrained(t / "else/second")), want));

  write_safetensors(t / "else/where/in.safetensors", {{"input_ids", token_ids(2, 5)}});
  const fs::path working = t / "else/where";
  const ToolResult result = run_tool(
      {"run", "../second", "--inputs", "in.safetensors", "--outputs", "out.safetensors"}, [&] {
        if (::chdir(working.c_str()) != 0) ::_exit(125);
      });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(same_bits(read_safetensors(working / "out.safetensors").at("logits"), want));
}

TEST(CaseFiles, AGraphWithoutItsWeightsNamesThem) {
  const TestFolder t;
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "out");
  fs::remove(t / "out/model.onnx.data");
  const std::string message =
      error_of(kInvalid, [&] { ExportedModel::from_pretrained(t / "out"); });
  EXPECT_TRUE(contains(message, "model.onnx.data"));
  fs::remove(t / "out/model.onnx");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { ExportedModel::from_pretrained(t / "out"); }),
                       "model.onnx"));
}

/// Moves every file into a store of blobs and leaves links, as download caches do.
void link_into_store(const fs::path& folder, const fs::path& store) {
  fs::create_directories(store);
  int number = 0;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  for (const fs::path& file : files) {
    const fs::path blob = store / ("blob" + std::to_string(number++));
    fs::rename(file, blob);
    fs::create_symlink(fs::relative(blob, folder), file);
  }
}

TEST(CaseFiles, ACheckpointOfLinksExports) {
  const TestFolder t;
  const Draft draft = Draft::golden("llama-causal-lm");
  draft.save_sharded(t / "cache/snapshots/one", 2);
  link_into_store(t / "cache/snapshots/one", t / "cache/blobs");
  export_checkpoint(t / "cache/snapshots/one").save_pretrained(t / "out");
  EXPECT_TRUE(bytes_of(t / "out") == bytes_of(draft));
  for (const auto& entry : fs::directory_iterator(t / "out"))
    EXPECT_FALSE(entry.is_symlink()) << entry.path();
}

TEST(CaseFiles, AnExportOfLinksRuns) {
  const TestFolder t;
  const Tensor want = logits_of(export_checkpoint(golden::folder("llama-causal-lm")));
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "cache/snapshots/one");
  link_into_store(t / "cache/snapshots/one", t / "cache/blobs");
  EXPECT_TRUE(
      same_bits(logits_of(ExportedModel::from_pretrained(t / "cache/snapshots/one")), want));
}

TEST(CaseFiles, ALinkWithoutItsTargetIsNamed) {
  const TestFolder t;
  export_checkpoint(golden::folder("llama-causal-lm")).save_pretrained(t / "out");
  fs::remove(t / "out/model.onnx.data");
  fs::create_symlink("nowhere", t / "out/model.onnx.data");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { ExportedModel::from_pretrained(t / "out"); }),
                       "model.onnx.data"));
}

}  // namespace
}  // namespace slipway::cases

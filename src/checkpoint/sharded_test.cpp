// Directories of weights: single files, shards, links, and what is missing (PC-05, 07, 44).
#include "checkpoint/sharded.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/output.h"
#include "base/test_folder.h"
#include "checkpoint/safetensors.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

Tensor value(float v) { return Tensor::of<float>({1}, {v}); }

/// Three shards of two tensors each: a1 a2, b1 b2, c1 c2 with values 1 to 6.
void write_three_shards(const TestFolder& t, const std::string& folder) {
  fs::create_directories(t / folder);
  Json map = Json::object();
  float v = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string letter(1, static_cast<char>('a' + i));
    const std::string shard = "model-0000" + std::to_string(i + 1) + "-of-00003.safetensors";
    write_safetensors(t / folder / shard,
                      {{letter + "1", value(v + 1)}, {letter + "2", value(v + 2)}});
    map[letter + "1"] = map[letter + "2"] = shard;
    v += 2;
  }
  t.write(folder + "/model.safetensors.index.json",
          Json{{"metadata", {}}, {"weight_map", map}}.dump());
}

std::string refused(const fs::path& directory, ErrorKind kind = kInvalid) {
  try {
    open_safetensors(directory);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(to_string(e.kind())), to_string(kind)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

float read(const WeightStore& store, const std::string& name) {
  return materialize(*store.find(name)).values<float>()[0];
}

TEST(Sharded, ReadsAllShards) {
  TestFolder t;
  write_three_shards(t, "m");
  const auto store = open_safetensors(t / "m");
  EXPECT_EQ(store->names(), (std::vector<std::string>{"a1", "a2", "b1", "b2", "c1", "c2"}));
  EXPECT_EQ(read(*store, "b1"), 3);
  EXPECT_EQ(read(*store, "c2"), 6);
  EXPECT_EQ(store->find("d"), nullptr);
  EXPECT_EQ(store->find("a1"), store->find("a1"));
}

TEST(Sharded, MissingShardsAreNamedWithWhatTheyHold) {
  TestFolder t;
  write_three_shards(t, "m");
  fs::remove(t / "m/model-00002-of-00003.safetensors");
  expect_parts(refused(t / "m"), {"1 of 3 shards missing", "model-00002-of-00003.safetensors",
                                  "2 tensors such as b1", display(t / "m")});
  fs::remove(t / "m/model-00003-of-00003.safetensors");
  expect_parts(refused(t / "m"), {"2 of 3", "model-00003-of-00003.safetensors", "c1"});
}

TEST(Sharded, CutShardIsNamed) {
  TestFolder t;
  write_three_shards(t, "m");
  const fs::path shard = t / "m/model-00003-of-00003.safetensors";
  const auto size = fs::file_size(shard);
  fs::resize_file(shard, size - 1);
  expect_parts(refused(t / "m"), {"model-00003-of-00003.safetensors", "2 tensors such as c1",
                                  std::to_string(size), std::to_string(size - 1)});
}

TEST(Sharded, ShardWithoutItsTensorsIsNamed) {
  TestFolder t;
  write_three_shards(t, "m");
  write_safetensors(t / "m/model-00002-of-00003.safetensors", {{"b2", value(0)}});
  expect_parts(refused(t / "m"), {"model-00002-of-00003.safetensors", "lacks 1 of the 2", "b1"});
}

TEST(Sharded, TensorsBeyondTheIndex) {
  TestFolder t;
  write_three_shards(t, "m");
  write_safetensors(t / "m/model-00001-of-00003.safetensors",
                    {{"a1", value(1)}, {"a2", value(2)}, {"c1", value(99)}, {"extra", value(7)}});
  testing::internal::CaptureStderr();
  const auto store = open_safetensors(t / "m");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("c1"), std::string::npos);
  EXPECT_EQ(read(*store, "c1"), 5) << "the index decides";
  EXPECT_EQ(read(*store, "extra"), 7);
  write_safetensors(t / "m/model-00002-of-00003.safetensors",
                    {{"b1", value(1)}, {"b2", value(2)}, {"extra", value(8)}});
  expect_parts(refused(t / "m"), {"extra", "model-00002-of-00003.safetensors"});
}

TEST(Sharded, SingleFileComesFirst) {
  TestFolder t;
  write_three_shards(t, "m");
  write_safetensors(t / "m/model.safetensors", {{"only", value(1)}});
  EXPECT_EQ(open_safetensors(t / "m")->names(), std::vector<std::string>{"only"});
}

TEST(Sharded, LinksIntoABlobStoreAndMovedFolders) {
  TestFolder t;
  write_three_shards(t, "hub/blobs");
  fs::create_directories(t / "hub/snapshots/abc");
  int blob = 0;
  for (const auto& entry : fs::directory_iterator(t / "hub/blobs")) {
    const std::string name = entry.path().filename().string(),
                      hash = "hash" + std::to_string(blob++);
    fs::rename(entry.path(), t / "hub/blobs" / hash);
    fs::create_symlink("../../blobs/" + hash, t / "hub/snapshots/abc" / name);
  }
  EXPECT_EQ(read(*open_safetensors(t / "hub/snapshots/abc"), "b2"), 4);
  fs::rename(t / "hub", t / "elsewhere é 模型");
  EXPECT_EQ(read(*open_safetensors(t / "elsewhere é 模型/snapshots/abc"), "b2"), 4);
  fs::remove_all(t / "elsewhere é 模型/blobs");
  expect_parts(refused(t / "elsewhere é 模型/snapshots/abc"), {"model.safetensors.index.json"});
}

TEST(Sharded, RefusesHostileIndexes) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_shard_index(text, "the index");
    } catch (const Error& e) {
      EXPECT_EQ(std::string(to_string(e.kind())), "invalid");
      return e.what();
    }
    return "accepted";
  };
  for (const char* shard :
       {"../model.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"})
    expect_parts(message(std::string(R"({"weight_map":{"w":")") + shard + "\"}}"),
                 {"the index", "same folder", "\"w\""});
  expect_parts(message(R"({"weight_map":{"w":1}})"), {"the number 1"});
  expect_parts(message(R"({"weight_map":{}})"), {"empty"});
  expect_parts(message(R"({"weight_map":[]})"), {"no weight_map"});
  expect_parts(message(R"({})"), {"no weight_map"});
  expect_parts(message(R"([])"), {"no weight_map"});
  expect_parts(message(R"({"weight_map":{"w":"a","w":"b"}})"), {"twice"});
  expect_parts(message("{"), {"JSON"});
}

TEST(Sharded, FoldersWithoutUsableWeightsSayWhatIsNeeded) {
  TestFolder t;
  fs::create_directory(t / "empty");
  expect_parts(refused(t / "empty"), {"no weights", "model.safetensors"});
  expect_parts(refused(t / "absent"), {"absent"});
  t.write("other/adapter_model.safetensors", "x");
  expect_parts(refused(t / "other"), {"adapter_model.safetensors", "need model.safetensors"});
  t.write("quantized/b.gguf", "x");
  t.write("quantized/a.gguf", "x");
  expect_parts(refused(t / "quantized"), {"a.gguf, b.gguf", "the .gguf file itself"});
  t.write("pickled/pytorch_model.bin", "x");
  expect_parts(refused(t / "pickled", kUnsupported), {"pytorch_model.bin", "save_pretrained"});
}

}  // namespace
}  // namespace slipway

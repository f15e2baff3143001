// Opening checkpoints: kinds of folders and files, companions, and what is said first (PC-11,
// PC-44).
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "base/test_expect.h"
#include "base/test_folder.h"
#include "checkpoint/safetensors.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

const std::string kConfig = R"({"model_type":"llama","hidden_size":4})";

void write_weights(const fs::path& folder) {
  fs::create_directories(folder);
  write_safetensors(folder / "model.safetensors", {{"w", Tensor::of<float>({1}, {3})}});
}

TEST(Checkpoint, OpensAFolderWithItsCompanions) {
  TestFolder t;
  t.write("m/config.json", kConfig);
  write_weights(t / "m");
  for (const char* name :
       {"tokenizer.json", "merges.txt", "generation_config.json", "README.md", "training_args.bin"})
    t.write(fs::path("m") / name, name);
  t.write("blobs/x", "template");
  fs::create_symlink("../blobs/x", t / "m/chat_template.jinja");
  const Checkpoint c = open_checkpoint(t / "m");
  EXPECT_EQ(c.path, t / "m");
  EXPECT_EQ(c.config.model_type(), "llama");
  EXPECT_EQ(materialize(*c.weights->find("w")).values<float>()[0], 3);
  std::vector<std::string> names;
  for (const CompanionFile& file : c.companions) {
    names.push_back(file.name);
    EXPECT_EQ(std::get<fs::path>(file.source), t / "m" / file.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"chat_template.jinja", "generation_config.json",
                                             "merges.txt", "tokenizer.json"}));
  EXPECT_EQ(open_checkpoint(t / "m/").config.model_type(), "llama");
}

TEST(Checkpoint, WorksThroughLinksAndFromAnotherWorkingFolder) {
  TestFolder t;
  t.write("real é/config.json", kConfig);
  write_weights(t / "real é");
  fs::create_directory_symlink("real é", t / "link");
  const fs::path before = fs::current_path();
  fs::current_path(t.path());
  const Checkpoint c = open_checkpoint("link");
  fs::current_path(before);
  EXPECT_EQ(materialize(*c.weights->find("w")).values<float>()[0], 3);
}

TEST(Checkpoint, BrokenCompanionsAreNamed) {
  TestFolder t;
  t.write("m/config.json", kConfig);
  write_weights(t / "m");
  fs::create_symlink("../blobs/gone", t / "m/tokenizer.json");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(t / "m"); }), "tokenizer.json"));
}

TEST(Checkpoint, SaysWhatIsMissing) {
  TestFolder t;
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { open_checkpoint(t / "absent"); }), "does not exist"));
  fs::create_directory(t / "empty");
  EXPECT_TRUE(
      contains(error_of(kInvalid, [&] { open_checkpoint(t / "empty"); }), "no config.json"));
  t.write("two/a.gguf", "GGUF");
  t.write("two/b.gguf", "GGUF");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(t / "two"); }), "a.gguf, b.gguf"));
  t.write("m/config.json", kConfig);
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(t / "m"); }), "no weights"));
  write_weights(t / "m");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(t / "m/model.safetensors"); }),
                       "is no .gguf file"));
}

TEST(Checkpoint, GgufFilesGoToTheirReader) {
  TestFolder t;
  t.write("one/model.gguf", "GGUF");  // nothing but the magic number: its reader refuses it by name
  for (const fs::path& path : {t / "one", t / "one/model.gguf"})
    EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(path); }), "model.gguf"));
  t.write("without-extension", "GGUF");
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open_checkpoint(t / "without-extension"); }),
                       "without-extension"));
}

TEST(Checkpoint, AQuantizationSchemeIsSaidBeforeAnythingElse) {
  TestFolder t;
  t.write("m/config.json",
          R"({"model_type":"llama","quantization_config":{"quant_method":"gptq"}})");
  t.write("m/gptq_model.pt", "x");
  EXPECT_TRUE(contains(error_of(kUnsupported, [&] { open_checkpoint(t / "m"); }), "gptq"));
}

TEST(Checkpoint, PickledWeightsAreRefusedWithTheWayOut) {
  TestFolder t;
  t.write("m/config.json", kConfig);
  t.write("m/pytorch_model.bin", "x");
  EXPECT_TRUE(
      contains(error_of(kUnsupported, [&] { open_checkpoint(t / "m"); }), "save_pretrained"));
}

}  // namespace
}  // namespace slipway

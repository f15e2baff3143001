// Writing: equal bytes, tied weights stored once, names and versions.
#include "backends/onnx/write.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "backends/onnx/lower.h"
#include "backends/onnx/read.h"
#include "base/mapped_file.h"
#include "base/test_expect.h"
#include "models/registry.h"
#include "onnx/onnx-ml.pb.h"

namespace slipway::onnx {
namespace {

namespace fs = std::filesystem;

class Write : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "slipway-write-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static ExportedProgram golden(const std::string& name) {
    const Checkpoint checkpoint =
        open_checkpoint(fs::path(SLIPWAY_SOURCE_DIR) / "tests" / "golden" / "models" / name);
    const models::ResolvedTask task =
        models::resolve_task(models::find_model(checkpoint.config), checkpoint.config, "auto");
    models::BuildOptions options;
    options.cache = task.cache;
    return models::build_program(checkpoint, task, options);
  }

  std::string bytes(const std::string& name) const {
    const auto file = MappedFile::open(folder_ / name);
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }

  /// The bytes of every external initializer by name.
  std::map<std::string, std::string> initializers(const std::string& name) const {
    ::onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(bytes(name)));
    std::map<std::string, std::string> result;
    for (const auto& tensor : model.graph().initializer()) {
      std::map<std::string, std::string> place;
      for (const auto& entry : tensor.external_data()) place[entry.key()] = entry.value();
      if (!place.empty())
        result[tensor.name()] =
            bytes(place["location"])
                .substr(std::stoul(place["offset"]), std::stoul(place["length"]));
    }
    return result;
  }

  fs::path folder_;
};

TEST_F(Write, EqualProgramsGiveEqualBytes) {
  for (const char* name : {"llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                           "qwen3-causal-lm", "bert-base", "bert-masked-lm"}) {
    std::string model[2], data[2];
    for (int round = 0; round < 2; ++round) {
      const ExportedProgram program = golden(name);
      write(*lower(program, {}), program.value_ranges, folder_, "model", {});
      model[round] = bytes("model.onnx");
      data[round] = bytes("model.onnx.data");
    }
    EXPECT_EQ(model[0], model[1]) << name;
    EXPECT_EQ(data[0], data[1]) << name;
    EXPECT_FALSE(data[0].empty()) << name;
  }
}

TEST_F(Write, DataFilesEndBeforeTheLimit) {
  const ExportedProgram program = golden("llama-causal-lm");
  const auto graph = lower(program, {});
  write(*graph, program.value_ranges, folder_, "whole", {});
  WriteOptions options;
  options.data_file = "model.onnx_data";
  options.max_data_bytes = 20000;
  const WriteSummary summary = write(*graph, program.value_ranges, folder_, "model", options);
  ASSERT_GT(summary.data_files.size(), 2u);
  EXPECT_EQ(summary.data_files[0], "model.onnx_data");
  EXPECT_EQ(summary.data_files[1], "model.onnx_data_1");
  std::set<std::string> named(summary.data_files.begin(), summary.data_files.end());
  EXPECT_EQ(read_summary(folder_ / "model.onnx").external_files, named);
  int64_t total = 0;
  for (const std::string& file : summary.data_files) {
    EXPECT_LE(fs::file_size(folder_ / file), 20000u) << file;
    total += static_cast<int64_t>(fs::file_size(folder_ / file));
  }
  EXPECT_EQ(total, summary.data_bytes);
  // Every weight is found again: the pieces hold the same bytes as the one file.
  EXPECT_EQ(initializers("model.onnx"), initializers("whole.onnx"));

  options.max_data_bytes = 2000;
  EXPECT_TRUE(
      contains(error_of(kUnsupported,
                        [&] { write(*graph, program.value_ranges, folder_, "model", options); }),
               "a data file of this layout takes at most 2000"));
}

TEST_F(Write, ATiedWeightIsStoredOnce) {
  const ExportedProgram program = golden("qwen3-causal-lm");  // tie_word_embeddings
  const auto graph = lower(program, {});
  int64_t tables = 0;
  for (const Node* weight : graph->weights())
    for (Sym size : weight->types[0].shape) tables += size.is_const(128) ? 1 : 0;
  EXPECT_EQ(tables, 1);  // the vocabulary of 128 occurs in one stored matrix
}

TEST_F(Write, NamesBothEndsOfTheCacheAndTheLowestVersions) {
  const std::map<int64_t, int64_t> versions = {{18, 8},  {19, 9},  {20, 9}, {21, 10},
                                               {22, 10}, {23, 11}, {24, 12}};
  for (const auto& [opset, ir] : versions) {
    const ExportedProgram program = golden("llama-causal-lm");
    WriteOptions options;
    options.opset_version = opset;
    write(*lower(program, {.opset_version = opset}), program.value_ranges, folder_, "model",
          options);
    const FileSummary summary = read_summary(folder_ / "model.onnx");
    EXPECT_EQ(summary.ir_version, ir);
    EXPECT_EQ(summary.opsets.at(""), opset);
    EXPECT_EQ(summary.inputs.at(3).name, "input.past_key_values.layers.0.keys");
    EXPECT_EQ(summary.outputs.at(1).name, "output.past_key_values.layers.0.keys");
    EXPECT_EQ(summary.metadata.at("slipway.ranges"), R"({"input_ids":[0,127]})");
    EXPECT_EQ(summary.external_files, std::set<std::string>{"model.onnx.data"});
  }
  EXPECT_THROW(ir_version_of(17), Error);
  EXPECT_THROW(ir_version_of(25), Error);
}

TEST_F(Write, RefusesToReadWhatIsNoModel) {
  const std::string garbage = "not a model";
  EXPECT_THROW(
      read_summary(ByteSpan(reinterpret_cast<const std::byte*>(garbage.data()), garbage.size()),
                   "x.onnx"),
      Error);
  EXPECT_THROW(read_summary(ByteSpan(), "x.onnx"), Error);
}

}  // namespace
}  // namespace slipway::onnx

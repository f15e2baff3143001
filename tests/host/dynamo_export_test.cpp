// The PyTorch exporter: files, metadata, bounds, and reading back what it wrote.
#include <fstream>
#include <set>

#include "backends/dynamo/import.h"
#include "base/json.h"
#include "base/test_expect.h"
#include "export/dry_run.h"
#include "export/manifest.h"
#include "golden_util.h"
#include "ir/print.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

DynamoConfig dynamic_config() {
  DynamoConfig config;
  config.dynamic = true;
  return config;
}

ExportedModel exported_case(const std::string& name, const std::string& task) {
  const auto model = PreTrainedModel::from_pretrained(folder(name), task);
  return DynamoExporter().export_model(model, model.example_inputs(), dynamic_config());
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DynamoExport, ReadingAnExportBackGivesTheProgramThatWasWritten) {
  const Scratch scratch;
  for (const auto& [name, task] : {std::pair("llama-causal-lm", "text-generation"),
                                   std::pair("mistral-causal-lm", "text-generation-with-past"),
                                   std::pair("qwen2-causal-lm", "text-generation-with-past"),
                                   std::pair("qwen3-causal-lm", "text-generation-with-past"),
                                   std::pair("bert-base", "auto")}) {
    const ExportedModel exported = exported_case(name, task);
    const fs::path out = scratch.path() / name;
    exported.save_pretrained(out);
    const auto back = dynamo::import_program(dynamo::ProgramFile::open(out / "model.pt2"));
    EXPECT_EQ(print(*back.program.graph), exported.program().to_text()) << name;
    EXPECT_EQ(back.in_spec, exported.component("model").metadata.in_spec) << name;
    for (const auto& [op, count] : exported.program().op_counts())
      EXPECT_TRUE(op.starts_with("aten::")) << op;
  }
}

TEST(DynamoExport, EveryComponentIsAFileWithItsOwnWeights) {
  const Scratch scratch;
  const auto model = AutoModelForCausalLM::from_pretrained(folder("llama-causal-lm"));
  const Inputs example = model.example_inputs();
  DecomposeOptions options;
  options.multi_token_decode = true;
  options.generation_config.cache_implementation = "static";
  options.generation_config.max_cache_len = 32;
  const ExportedModel exported =
      DynamoExporter().export_for_generation(model, example, dynamic_config(), options);
  const fs::path out = scratch.path() / "out";
  exported.save_pretrained(out);
  const Json manifest = parse_json_file(out / "export.json");
  EXPECT_EQ(manifest["export_format"], "dynamo");
  int64_t weights = 0;
  for (const char* name : {"prefill", "decode"}) {
    EXPECT_EQ(manifest["components"][name]["file"], std::string(name) + ".pt2");
    const auto file = dynamo::ProgramFile::open(out / (std::string(name) + ".pt2"));
    EXPECT_EQ(file.weights.config.size(), 21U);
    weights += static_cast<int64_t>(fs::file_size(out / (std::string(name) + ".pt2")));
  }
  const DryRun plan = dry_run(exported);
  EXPECT_EQ(plan.model_bytes + plan.data_bytes, weights);
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(out)) files.insert(entry.path().filename());
  EXPECT_EQ(files, (std::set<std::string>{"config.json", "decode.pt2", "export.json",
                                          "generation_config.json", "prefill.pt2"}));
}

TEST(DynamoExport, EqualExportsAreEqualBytes) {
  const Scratch scratch;
  for (const char* name : {"a", "b"})
    exported_case("bert-masked-lm", "auto").save_pretrained(scratch.path() / name);
  EXPECT_EQ(bytes_of(scratch.path() / "a" / "model.pt2"),
            bytes_of(scratch.path() / "b" / "model.pt2"));
  // The embedding and the head are one stored tensor.
  const auto file = dynamo::ProgramFile::open(scratch.path() / "a" / "model.pt2");
  for (const auto& [name, payload] : file.weights.config)
    EXPECT_NE(name, "cls.predictions.decoder.weight");
}

TEST(DynamoExport, BoundsThatTheModelCannotKeepAreRefusedOrChecked) {
  const auto model = PreTrainedModel::from_pretrained(folder("bert-base"));
  DynamoConfig config;
  config.dynamic_shapes = DynamicShapes{{"input_ids", {{1, Dim("tokens", 1, 4096)}}}};
  const std::string message = error_of(
      kInvalid, [&] { DynamoExporter().export_model(model, model.example_inputs(), config); });
  EXPECT_TRUE(contains(message, "'tokens' spans 1..4096"));
  EXPECT_TRUE(contains(message, "prefer_deferred_runtime_asserts_over_guards"));
  config.prefer_deferred_runtime_asserts_over_guards = true;
  const Scratch scratch;
  DynamoExporter()
      .export_model(model, model.example_inputs(), config)
      .save_pretrained(scratch.path() / "out");
  const auto file = dynamo::ProgramFile::open(scratch.path() / "out" / "model.pt2");
  ASSERT_EQ(file.program.range_constraints.size(), 1U);
  EXPECT_EQ(file.program.range_constraints[0].first, "s_tokens");
  EXPECT_EQ(file.program.range_constraints[0].second.max_val, 4096);
}

TEST(DynamoExport, TheConfigurationIsTheReferences) {
  const auto config = AutoExportConfig::from_dict(
      R"({"export_format": "dynamo", "dynamic": true, "quantizer": null})");
  EXPECT_EQ(config->to_json_string(),
            R"({"dynamic":true,"dynamic_shapes":null,"export_format":"dynamo",)"
            R"("prefer_deferred_runtime_asserts_over_guards":false,"strict":false})");
  EXPECT_NE(dynamic_cast<DynamoExporter*>(AutoHfExporter::from_config(*config).get()), nullptr);
  EXPECT_TRUE(contains(error_of(kUsage,
                                [] {
                                  AutoExportConfig::from_dict(
                                      R"({"export_format": "dynamo", "opset_version": 20})");
                                }),
                       "unknown field 'opset_version' for format dynamo"));
  EXPECT_TRUE(contains(
      error_of(kUsage,
               [] {
                 const auto model = PreTrainedModel::from_pretrained(folder("bert-base"));
                 OnnxExporter().export_model(model, model.example_inputs(), DynamoConfig());
               }),
      "needs an OnnxConfig"));
}

TEST(DynamoExport, LayoutsOfOtherToolsAreForOnnx) {
  const Scratch scratch;
  EXPECT_TRUE(contains(error_of(kUsage,
                                [&] {
                                  exported_case("bert-base", "auto")
                                      .save_pretrained(
                                          scratch.path() / "out",
                                          {.layout = Layout::kOptimum, .before_commit = {}});
                                }),
                       "export with format onnx"));
  EXPECT_FALSE(fs::exists(scratch.path() / "out"));
}

}  // namespace
}  // namespace slipway::golden

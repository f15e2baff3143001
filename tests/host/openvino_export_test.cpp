// Exports to OpenVINO: configuration, files, inputs and outputs. tests/interop runs them.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/test_expect.h"
#include "golden_util.h"
#include "slipway/exporter.h"
#include "slipway/model.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names(const std::vector<LeafSpec>& leaves) {
  std::vector<std::string> result;
  for (const LeafSpec& leaf : leaves) result.push_back(leaf.name);
  return result;
}

PreTrainedModel llama() {
  return PreTrainedModel::from_pretrained(
      fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/models/llama-causal-lm", "auto", {});
}

TEST(OpenVINOExport, TheConfigurationHasTheReferencesFields) {
  const auto config = AutoExportConfig::from_dict(
      R"({"export_format": "openvino", "compress_to_fp16": true, "stateful": false})");
  EXPECT_EQ(config->to_json_string(),
            R"({"compress_to_fp16":true,"dynamic":false,"dynamic_shapes":null,)"
            R"("export_format":"openvino","prefer_deferred_runtime_asserts_over_guards":false,)"
            R"("stateful":false,"strict":false})");
  EXPECT_TRUE(OpenVINOConfig().stateful);
  EXPECT_FALSE(OpenVINOConfig().compress_to_fp16);
  EXPECT_THROW(AutoExportConfig::from_dict(R"({"export_format": "openvino", "optimize": true})"),
               Error);
  EXPECT_THROW(AutoExportConfig::from_dict(R"({"export_format": "onnx", "stateful": true})"),
               Error);
}

TEST(OpenVINOExport, CachesAreInsideUnlessAsked) {
  const PreTrainedModel model = llama();
  OpenVINOConfig config;
  config.dynamic = true;
  const OpenVINOExporter exporter;
  const ExportedModel inside = exporter.export_model(model, model.example_inputs(), config);
  EXPECT_EQ(names(inside.program().inputs()),
            (std::vector<std::string>{"input_ids", "attention_mask", "position_ids", "beam_idx"}));
  EXPECT_EQ(names(inside.program().outputs()), std::vector<std::string>{"logits"});
  const Json out_spec = parse_json(*inside.component("model").metadata.out_spec, "out_spec");
  EXPECT_EQ(out_spec.at(1).at("children_spec").size(), 1u);

  config.stateful = false;
  const ExportedModel outside = exporter.export_model(model, model.example_inputs(), config);
  EXPECT_EQ(outside.program().inputs().size(), 7u);
  EXPECT_EQ(outside.program().outputs().size(), 5u);
}

TEST(OpenVINOExport, WritesTheReferencesFiles) {
  const golden::Scratch scratch;
  const PreTrainedModel model = llama();
  OpenVINOConfig config;
  config.dynamic = true;
  OpenVINOExporter()
      .export_for_generation(model,
                             {{"input_ids", model.example_inputs().at("input_ids")},
                              {"attention_mask", model.example_inputs().at("attention_mask")}},
                             config)
      .save_pretrained(scratch.path() / "out");
  for (const char* file : {"openvino_prefill.xml", "openvino_prefill.bin", "openvino_decode.xml",
                           "openvino_decode.bin", "config.json", "export.json"})
    EXPECT_TRUE(fs::exists(scratch.path() / "out" / file)) << file;
  const Json manifest = parse_json_file(scratch.path() / "out" / "export.json");
  EXPECT_EQ(manifest.at("export_format"), "openvino");
  EXPECT_EQ(manifest.at("components").at("decode").at("file"), "openvino_decode.xml");
}

TEST(OpenVINOExport, NeedsItsOwnConfiguration) {
  const PreTrainedModel model = llama();
  EXPECT_TRUE(contains(error_of(kUsage,
                                [&] {
                                  OpenVINOExporter().export_model(model, model.example_inputs(),
                                                                  OnnxConfig());
                                }),
                       "OpenVINOExporter needs an OpenVINOConfig"));
}

}  // namespace
}  // namespace slipway

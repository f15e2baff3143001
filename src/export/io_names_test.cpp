// Names of inputs and outputs: what is renamed, what is not, and what export.json records.
#include "export/io_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/test_expect.h"
#include "slipway/exporter.h"

namespace slipway {
namespace {

std::vector<std::string> names(const std::vector<LeafSpec>& leaves) {
  std::vector<std::string> list;
  for (const LeafSpec& leaf : leaves) list.push_back(leaf.name);
  return list;
}

ExportedModel exported(const std::string& task, IoNames io_names, DType dtype = DType::kF32) {
  const auto model = PreTrainedModel::from_pretrained(
      SLIPWAY_SOURCE_DIR "/tests/golden/models/llama-causal-lm", task, {.dtype = dtype});
  OnnxConfig config;
  config.dynamic = true;
  config.io_names = io_names;
  return OnnxExporter().export_model(model, model.example_inputs(), config);
}

TEST(IoNames, OptimumRenamesCachesInOrderOfTheLayers) {
  const ExportedModel model = exported("text-generation-with-past", IoNames::kOptimum);
  const std::vector<std::string> inputs = {"input_ids",
                                           "attention_mask",
                                           "position_ids",
                                           "past_key_values.0.key",
                                           "past_key_values.0.value",
                                           "past_key_values.1.key",
                                           "past_key_values.1.value"};
  EXPECT_EQ(names(model.program().inputs()), inputs);
  const std::vector<std::string> outputs = {"logits", "present.0.key", "present.0.value",
                                            "present.1.key", "present.1.value"};
  EXPECT_EQ(names(model.program().outputs()), outputs);
  const LeafSpec cache = model.program().inputs()[3];
  EXPECT_EQ(cache.dims, (std::vector<std::string>{"batch_size", "2", "past_sequence_length", "8"}));
}

TEST(IoNames, TheDefaultKeepsTheReferencesNames) {
  const ExportedModel model = exported("text-generation-with-past", IoNames::kTransformers);
  EXPECT_EQ(model.program().inputs()[3].name, "past_key_values.layers.0.keys");
  EXPECT_EQ(model.program().outputs()[1].name, "past_key_values.layers.0.keys");
}

TEST(IoNames, LogitsAreFloat32InOptimumGraphsOfHalves) {
  EXPECT_EQ(
      exported("text-generation", IoNames::kOptimum, DType::kF16).program().outputs()[0].dtype,
      DType::kF32);
  EXPECT_EQ(
      exported("text-generation", IoNames::kTransformers, DType::kF16).program().outputs()[0].dtype,
      DType::kF16);
}

TEST(IoNames, OnlyKeysAndValuesOfLayersAreCaches) {
  ExportedProgram program;
  Graph& graph = *program.graph;
  const ValueType type{DType::kF32, {Sym(1)}};
  for (const char* name :
       {"past_key_values.layers.0.cumulative_length", "past_key_values.layers.x.keys",
        "past_key_values.layers..keys", "past_key_values.layers.12.values"})
    graph.add_output(name, graph.add_input(name, type));
  apply_io_names(program, IoNames::kOptimum);
  EXPECT_EQ(graph.inputs()[0]->name, "past_key_values.layers.0.cumulative_length");
  EXPECT_EQ(graph.inputs()[1]->name, "past_key_values.layers.x.keys");
  EXPECT_EQ(graph.inputs()[2]->name, "past_key_values.layers..keys");
  EXPECT_EQ(graph.inputs()[3]->name, "past_key_values.12.value");
  EXPECT_EQ(graph.outputs()[3].name, "present.12.value");
}

TEST(IoNames, TransformersJsAsksForTheNumberOfLogits) {
  const auto has = [](const ExportedModel& model, const std::string& name) {
    const auto inputs = names(model.program().inputs());
    return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
  };
  const ExportedModel js = exported("text-generation-with-past", IoNames::kTransformersJs);
  EXPECT_TRUE(has(js, "num_logits_to_keep"));
  EXPECT_FALSE(has(js, "logits_to_keep"));
  EXPECT_TRUE(has(js, "past_key_values.1.value"));
  EXPECT_FALSE(has(exported("text-generation-with-past", IoNames::kOptimum), "num_logits_to_keep"));
}

TEST(IoNames, AreRecordedWhereTheyAreNotTheDefault) {
  const auto fields = [](IoNames io_names) {
    return parse_json(exported("text-generation-with-past", io_names)
                          .components()[0]
                          .second.metadata.export_config,
                      "export_config");
  };
  EXPECT_EQ(fields(IoNames::kOptimum)["io_names"], "optimum");
  EXPECT_FALSE(fields(IoNames::kTransformers).contains("io_names"));
  const auto config = AutoExportConfig::from_dict(fields(IoNames::kOptimum).dump());
  EXPECT_EQ(dynamic_cast<const OnnxConfig&>(*config).io_names, IoNames::kOptimum);
  EXPECT_TRUE(contains(
      error_of(
          kUsage,
          [] { AutoExportConfig::from_dict(R"({"export_format": "onnx", "io_names": "mine"})"); }),
      "'io_names' must be \"transformers\", \"optimum\" or \"transformers.js\", got the text "
      "\"mine\""));
}

TEST(IoNames, MetadataDescribesTheCallUnderTheNewNames) {
  const ExportedModel model = exported("text-generation-with-past", IoNames::kOptimum);
  const ExportMetadata& metadata = model.components()[0].second.metadata;
  ASSERT_EQ(metadata.kwargs.size(), 7u);
  EXPECT_EQ(metadata.kwargs[3].first, "past_key_values.0.key");
  EXPECT_EQ(metadata.kwargs[3].second, TracedKwarg::tensor({2, 2, 0, 8}, "float32"));
  EXPECT_EQ(model.component("model").metadata.out_spec->find("DynamicCache"), std::string::npos);
}

}  // namespace
}  // namespace slipway

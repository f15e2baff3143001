// Models that quantizers changed before they were exported, in every runtime.
#include <algorithm>

#include "backends/executorch/read.h"
#include "dynamo_util.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

fs::path root() { return SLIPWAY_QUANTIZED_PT2; }

/// The largest difference of each leaf where the mask gives it a meaning.
std::map<std::string, double> differences(const Inputs& got, const Inputs& want,
                                          const Inputs& inputs) {
  std::map<std::string, double> found;
  const Tensor& mask = inputs.at("attention_mask");
  for (const auto& [leaf, expected] : want) {
    const Tensor& value = got.at(leaf);
    EXPECT_EQ(value.shape(), expected.shape()) << leaf;
    const auto positions = positions_of(value, &mask, false);
    found[leaf] = max_difference(value, expected, [&](int64_t flat) {
      if (!positions) return true;
      int64_t inner = 1;
      for (size_t i = positions->axis + 1; i < value.shape().size(); ++i) inner *= value.shape()[i];
      const int64_t place = flat / inner % value.shape()[positions->axis];
      const int64_t row = flat / (value.numel() / value.dim(0));
      return mask.values<int64_t>()[static_cast<size_t>(row * mask.dim(1) + place)] != 0;
    });
  }
  return found;
}

/// Programs where a runtime's order of sums, or its quotient, moves a number over the middle
/// between two steps of a quantizer. Everything else is a rounding away from the reference.
const std::map<std::string, std::vector<std::string>> kMoved = {
    // The largest number of a row is 127.5 steps: symmetric over [-128, 127].
    {"llama-int8-products", {"dynamo", "onnx", "openvino", "executorch"}},
    {"bert-pt2e-xnnpack", {"onnx", "executorch"}},
    {"llama-pt2e-xnnpack-dynamic", {"onnx", "openvino", "executorch"}},
    // XNNPACK has a scale for each row, where these have one for all; and scales of bfloat16.
    {"bert-pt2e-xnnpack-dynamic", {"executorch"}},
    {"llama-8da4w", {"executorch"}},
};

double largest(const std::map<std::string, double>& found) {
  double most = 0;
  for (const auto& [leaf, difference] : found) most = std::max(most, difference);
  return most;
}

class QuantizedModels : public testing::TestWithParam<std::string> {
 protected:
  fs::path folder() const { return root() / GetParam(); }
  Inputs inputs() const { return read_safetensors(folder() / "inputs.safetensors"); }
  Inputs outputs() const { return read_safetensors(folder() / "outputs.safetensors"); }
  TorchProgram program() const { return TorchProgram::load(folder() / "model.pt2"); }
  /// What the model gave before it was quantized.
  Inputs unquantized() const {
    const fs::path made = GetParam().starts_with("llama") ? "llama-causal-lm" : "bert-base";
    return read_safetensors(SLIPWAY_REFERENCE_PT2 / made / "outputs.safetensors");
  }
  /// Where numbers move by a step, an output is at most as far from the reference's as quantizing
  /// itself moves any; twice where a back end quantizes in another way: both are off the model.
  void expect_reference(const ExportedModel& exported) const {
    const std::string& runtime = exported.export_format();
    const bool by_row = runtime == "executorch" && GetParam().find("pt2e") != std::string::npos;
    const auto moved = kMoved.find(GetParam());
    double allowed = kOtherRuntime;
    if (moved != kMoved.end() && std::ranges::count(moved->second, runtime) > 0)
      allowed = largest(differences(unquantized(), outputs(), inputs())) * (by_row ? 2 : 1);
    const Inputs got = by_name(exported(inputs()));
    EXPECT_LE(largest(differences(got, outputs(), inputs())), allowed);
  }
};

TEST_P(QuantizedModels, GiveTheReferencesOutputsInLibtorch) {
  expect_reference(DynamoExporter().export_model(program(), DynamoConfig()));
}

TEST_P(QuantizedModels, GiveThemThroughOnnx) {
  expect_reference(OnnxExporter().export_model(program(), OnnxConfig()));
}

/// OpenVINO quantizes inputs of layers with compressed weights by itself unless it is told not to.
TEST_P(QuantizedModels, GiveThemThroughOpenVINO) {
  OpenVINOConfig config;
  config.stateful = false;
  ExportedModel exported = OpenVINOExporter().export_model(program(), config);
  exported.to({.device = "cpu",
               .providers = {},
               .intra_op_threads = 0,
               .session_options = {{"DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"}}});
  expect_reference(exported);
}

TEST_P(QuantizedModels, GiveThemThroughExecutorch) {
  expect_reference(ExecutorchExporter().export_model(program(), ExecutorchConfig()));
}

/// As the tool does it, at other sizes than those of the trace.
TEST_P(QuantizedModels, Validate) {
  const TorchProgram source = program();
  const ExportedModel eager = DynamoExporter().export_model(source, DynamoConfig());
  const ValidationOptions options = {.eager = &eager, .rounds_to_steps = source.is_quantized()};
  EXPECT_TRUE(validate_export(OnnxExporter().export_model(source, OnnxConfig()), options));
  EXPECT_TRUE(validate_export(OpenVINOExporter().export_model(source, OpenVINOConfig()), options));
  EXPECT_TRUE(
      validate_export(ExecutorchExporter().export_model(source, ExecutorchConfig()), options));
}

INSTANTIATE_TEST_SUITE_P(Golden, QuantizedModels, testing::ValuesIn(folders_in(root())), test_name);

struct Stored {
  const char* name;
  std::map<std::string, int64_t> layers;  ///< static data of the delegate that are quantized
};

class QuantizedDelegates : public testing::TestWithParam<Stored> {};

/// Every layer is in the delegate with its weight as the program has it.
TEST_P(QuantizedDelegates, HoldTheLayers) {
  const Scratch scratch;
  const fs::path file = root() / GetParam().name / "model.pt2";
  ExecutorchExporter()
      .export_model(TorchProgram::load(file), ExecutorchConfig())
      .save_pretrained(scratch.path() / "out");
  const auto outline = executorch::read_outline(scratch.path() / "out" / "model.pte");
  const executorch::MethodOutline& forward = outline.method("forward", "test");
  std::map<std::string, int64_t> layers;
  for (const executorch::DelegatePort& delegate : forward.delegates)
    for (const auto& [type, count] : delegate.data_counts)
      if (type.starts_with("q")) layers[type] += count;
  EXPECT_EQ(layers, GetParam().layers);
  for (const char* op : {"aten::linear.out", "aten::addmm.out", "aten::mm.out"})
    EXPECT_FALSE(forward.op_counts.contains(op)) << op;
}

// Groups of 32 are a whole row of most layers of the tiny llama.
INSTANTIATE_TEST_SUITE_P(Golden, QuantizedDelegates,
                         testing::Values(Stored{"bert-8da8w", {{"qcint8", 13}}},
                                         Stored{"bert-pt2e-xnnpack-dynamic", {{"qcint8", 13}}},
                                         Stored{"bert-pt2e-x86", {{"qcint8", 13}}},
                                         Stored{"bert-pt2e-xnnpack",
                                                {{"qcint8", 13}, {"qcint32", 13}}},
                                         Stored{"llama-8da4w", {{"qcint4", 13}, {"qbint4", 2}}},
                                         Stored{"llama-pt2e-xnnpack-dynamic", {{"qcint8", 15}}},
                                         Stored{"llama-pt2e-x86", {{"qcint8", 15}}},
                                         Stored{"llama-int8", {{"qcint8", 15}}}),
                         [](const auto& made) {
                           std::string name = made.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace slipway::golden

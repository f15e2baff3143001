// The reference's own .pt2 exports: each loads, runs in libtorch and gives the reference's outputs.
#include "dynamo_util.h"
#include "runtime/session.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCases = 76;
// Cases that are known to fail, with the reason of each.
constexpr const char* kFailures = "expected_failures.json";
constexpr const char* kOnnxFailures = "expected_onnx_failures.json";
constexpr const char* kExecutorchFailures = "expected_executorch_failures.json";

fs::path reference() { return SLIPWAY_REFERENCE_PT2; }

std::vector<std::string> cases() { return folders_in(reference()); }

class DynamoReference : public testing::TestWithParam<std::string> {};

TEST_P(DynamoReference, GivesTheReferencesOutputs) {
  const fs::path folder = reference() / GetParam();
  check_unless_expected(pt2_json(kFailures), GetParam(), kFailures, [&] {
    const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
    const auto exported = ExportedModel::from_pretrained(folder);
    EXPECT_TRUE(exported.runners()[0].second.runtime().starts_with("libtorch "));
    expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"),
                 inputs, kTolerance);
  });
}

/// The same program as a source: imported, lowered to ONNX, run by ONNX Runtime.
TEST_P(DynamoReference, GivesThemThroughOnnxToo) {
  const fs::path folder = reference() / GetParam();
  check_unless_expected(pt2_json(kOnnxFailures), GetParam(), kOnnxFailures, [&] {
    const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
    const auto exported =
        OnnxExporter().export_model(TorchProgram::load(folder / "model.pt2"), OnnxConfig());
    expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"),
                 inputs, kOtherRuntime);
  });
}

/// And by OpenVINO; its caches are inputs and outputs, so that all of them are compared.
TEST_P(DynamoReference, GivesThemThroughOpenVINOToo) {
  const fs::path folder = reference() / GetParam();
  const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
  OpenVINOConfig config;
  config.stateful = false;
  const auto exported =
      OpenVINOExporter().export_model(TorchProgram::load(folder / "model.pt2"), config);
  expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"), inputs,
               kOtherRuntime);
}

/// And by ExecuTorch.
TEST_P(DynamoReference, GivesThemThroughExecutorchToo) {
  const fs::path folder = reference() / GetParam();
  check_unless_expected(pt2_json(kExecutorchFailures), GetParam(), kExecutorchFailures, [&] {
    const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
    const auto exported = ExecutorchExporter().export_model(
        TorchProgram::load(folder / "model.pt2"), ExecutorchConfig());
    expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"),
                 inputs, kOtherRuntime);
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, DynamoReference, testing::ValuesIn(cases()), test_name);

TEST(DynamoReferenceCases, AreAllThereAndFewMayFail) {
  const std::vector<std::string> names = cases();
  EXPECT_EQ(names.size(), kCases);
  for (const char* file : {kFailures, kOnnxFailures, kExecutorchFailures}) {
    const Json expected = pt2_json(file);
    EXPECT_LE(expected.size() * 20, names.size());
    for (const auto& [name, reason] : expected.items()) {
      EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
      EXPECT_FALSE(reason.get<std::string>().empty()) << name;
    }
  }
}

class DynamoReferenceLimits : public testing::TestWithParam<const char*> {};

/// Programs that take no short sequences, and one whose mask may have any length but should not:
/// validating finds sizes that they take.
TEST_P(DynamoReferenceLimits, AreKeptByValidation) {
  const auto program = TorchProgram::load(reference() / GetParam() / "model.pt2");
  EXPECT_TRUE(validate_export(OnnxExporter().export_model(program, OnnxConfig())));
  EXPECT_TRUE(validate_export(DynamoExporter().export_model(program, DynamoConfig())));
}

INSTANTIATE_TEST_SUITE_P(Golden, DynamoReferenceLimits,
                         testing::Values("bamba-causal-lm", "lfm2-causal-lm", "mamba2-causal-lm",
                                         "qwen3_next-causal-lm", "speech_to_text-speech-seq2seq",
                                         "recurrent_gemma-causal-lm"),
                         [](const auto& made) {
                           std::string name = made.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(DynamoReferenceSession, TellsTheSizesThatTheProgramTakes) {
  const auto program = Session::open("dynamo", reference() / "mamba2-causal-lm" / "model.pt2");
  const Json dims = parse_json(program.metadata().at("slipway.dims"), "slipway.dims");
  EXPECT_EQ(dims.size(), 1u) << dims.dump();
  for (const auto& [name, range] : dims.items())
    EXPECT_EQ(range, Json::array({4, nullptr})) << name;
}

struct Native {
  const char* name;
  const char* task;
};

class DynamoReferenceSizes : public testing::TestWithParam<Native> {};

/// A left-padded batch of three rows, other sizes than those of the trace.
Inputs other_inputs(int64_t rows, int64_t length, int64_t vocabulary) {
  Inputs inputs;
  Tensor ids(DType::kI64, {rows, length}), mask(DType::kI64, {rows, length});
  for (int64_t i = 0; i < rows * length; ++i) {
    ids.mutable_values<int64_t>()[static_cast<size_t>(i)] = (i * 37 + 11) % vocabulary;
    mask.mutable_values<int64_t>()[static_cast<size_t>(i)] = i % length >= i / length ? 1 : 0;
  }
  return {{"input_ids", ids}, {"attention_mask", mask}};
}

TEST_P(DynamoReferenceSizes, EqualTheNativeModelAtOtherSizes) {
  const auto native = export_case(GetParam().name, GetParam().task);
  const auto traced = ExportedModel::from_pretrained(reference() / GetParam().name);
  for (const auto& [rows, length] : {std::pair<int64_t, int64_t>{3, 14}, {1, 5}}) {
    const Inputs inputs = other_inputs(rows, length, 90);
    auto want = by_name(native(inputs));
    const auto got = by_name(traced(inputs));
    std::erase_if(want, [&](const auto& leaf) { return !got.contains(leaf.first); });
    expect_equal(got, want, inputs, kOtherRuntime);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, DynamoReferenceSizes,
                         testing::Values(Native{"llama-causal-lm", "text-generation"},
                                         Native{"mistral-causal-lm", "text-generation"},
                                         Native{"qwen2-causal-lm", "text-generation"},
                                         Native{"qwen3-causal-lm", "text-generation"},
                                         Native{"bert-base", "auto"},
                                         Native{"bert-masked-lm", "auto"},
                                         Native{"bert-sequence-classification", "auto"}),
                         [](const auto& made) {
                           std::string name = made.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace slipway::golden

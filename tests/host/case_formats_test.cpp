// Dtypes, opsets and repetition: the same numbers in every form, the same bytes every time.
#include "case_util.h"

namespace slipway::cases {
namespace {

Tensor widened(const Tensor& half) {
  Tensor out(DType::kF32, half.shape());
  for (int64_t i = 0; i < half.numel(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, half.data() + i * 2, 2);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 31  ? INFINITY
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    out.mutable_values<float>()[static_cast<size_t>(i)] =
        static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
  }
  return out;
}

double largest(const Tensor& tensor) {
  return difference(tensor, Tensor(DType::kF32, tensor.shape()));
}

TEST(CaseFormats, HalfPrecisionStaysNearSingle) {
  for (const char* name : {"llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                           "qwen3-causal-lm", "bert-base"}) {
    SCOPED_TRACE(name);
    const TestFolder t;
    const Inputs inputs = {{"input_ids", token_ids(2, 7)}};
    const Tensor single = export_checkpoint(golden::folder(name))(inputs)[0].second;
    export_checkpoint(golden::folder(name), "auto", dynamic_config(), {.dtype = DType::kF16})
        .save_pretrained(t / "out");
    const ExportedModel half = ExportedModel::from_pretrained(t / "out");
    const Tensor got = half(inputs)[0].second;
    ASSERT_EQ(got.dtype(), DType::kF16);
    EXPECT_LE(difference(widened(got), single), 2e-2);
    EXPECT_GT(largest(single), 0.1) << "the tolerance means nothing";
    EXPECT_EQ(parse_json(half.config(), "config").at("dtype"), "float16");
  }
}

TEST(CaseFormats, BFloat16IsWrittenAndLoadingSaysWhatLacks) {
  const TestFolder t;
  const Draft draft = Draft::golden("llama-causal-lm");
  const ToolResult result = run_tool({"export", golden::folder("llama-causal-lm").string(),
                                      (t / "out").string(), "--dtype", "bf16"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "not validated"));
  int64_t elements = 0;
  for (const auto& [name, tensor] : draft.tensors) elements += tensor.numel();
  const auto size = static_cast<int64_t>(bytes_of(t / "out").data.size());
  EXPECT_GE(size + int64_t{4096}, 2 * elements);
  EXPECT_LE(size, 2 * elements + 21 * 4096);
  // ONNX Runtime has no bfloat16 kernels for the CPU.
  const std::string message =
      error_of(kUnsupported, [&] { ExportedModel::from_pretrained(t / "out"); });
  EXPECT_TRUE(contains(message, (t / "out/model.onnx").string()));
  EXPECT_TRUE(contains(message, "Could not find an implementation"));
}

TEST(CaseFormats, EveryOpsetGivesTheSame) {
  for (const char* name : {"llama-causal-lm", "qwen2-causal-lm", "bert-base"}) {
    const Inputs inputs = {{"input_ids", token_ids(2, 7)}};
    const Outputs want = export_checkpoint(golden::folder(name))(inputs);
    for (int64_t opset = 18; opset <= 24; ++opset) {
      OnnxConfig config = dynamic_config();
      config.opset_version = opset;
      const Outputs got = export_checkpoint(golden::folder(name), "auto", config)(inputs);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_LE(difference(got[i].second, want[i].second), 1e-5)
            << name << ", opset " << opset << ", " << got[i].first;
    }
  }
}

TEST(CaseFormats, OtherOpsetsAreRefused) {
  for (const char* opset : {"17", "25"})
    EXPECT_TRUE(contains(refused(golden::folder("bert-base"), 4, {"--opset", opset}), "18..24"));
}

TEST(CaseFormats, OptimizingChangesNoNumber) {
  for (const char* name : {"llama-causal-lm", "qwen3-causal-lm", "bert-masked-lm"}) {
    const Inputs inputs = {{"input_ids", token_ids(2, 7)}};
    OnnxConfig plain = dynamic_config();
    plain.optimize = false;
    const ExportedModel a = export_checkpoint(golden::folder(name));
    const ExportedModel b = export_checkpoint(golden::folder(name), "auto", plain);
    EXPECT_LE(difference(a(inputs)[0].second, b(inputs)[0].second), 1e-5) << name;
  }
}

TEST(CaseFormats, ExportingTwiceGivesTheSameBytes) {
  const TestFolder t;
  for (const char* name : {"llama-causal-lm", "bert-token-classification"}) {
    for (const char* out : {"first", "second"}) {
      const ToolResult result =
          run_tool({"export", golden::folder(name).string(), (t / out).string(), "--no-validate"});
      ASSERT_EQ(result.code, 0) << result.err;
    }
    const auto first = files_of(t / "first");
    EXPECT_GE(first.size(), 4u);
    EXPECT_TRUE(first == files_of(t / "second")) << name;
    export_checkpoint(golden::folder(name)).save_pretrained(t / "third");
    EXPECT_TRUE(bytes_of(t / "third") == bytes_of(t / "first")) << "the tool and the API differ";
  }
}

}  // namespace
}  // namespace slipway::cases

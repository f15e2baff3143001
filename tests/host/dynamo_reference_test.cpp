// The reference's own .pt2 exports: each loads, runs in libtorch and gives the reference's outputs.
#include <set>

#include "base/json.h"
#include "golden_util.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

// Both sides are float32 kernels of PyTorch; only the BLAS library and its order of sums differ.
constexpr double kTolerance = 1e-5;
// Another implementation (ONNX Runtime) at other sizes; that of the golden tests.
constexpr double kOtherRuntime = 1e-4;
constexpr size_t kCases = 76;

fs::path reference() { return SLIPWAY_REFERENCE_PT2; }

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(reference()))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// Cases that are known to fail, with the reason of each.
Json expected_failures(const char* file = "expected_failures.json") {
  return parse_json_file(fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/pt2" / file);
}

std::string test_name(const testing::TestParamInfo<std::string>& made) {
  std::string name = made.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// The last `length` places of axis 2.
Tensor tail(const Tensor& value, int64_t length) {
  Shape shape = value.shape();
  shape[2] = length;
  Tensor result(value.dtype(), shape);
  const int64_t row = value.dim(3) * itemsize(value.dtype());
  for (int64_t outer = 0; outer < value.dim(0) * value.dim(1); ++outer)
    std::memcpy(result.mutable_data() + outer * length * row,
                value.data() + (outer * value.dim(2) + value.dim(2) - length) * row,
                static_cast<size_t>(length * row));
  return result;
}

/// The axis of an output that runs over the mask's positions, and the position of its first place.
struct Positions {
  size_t axis;
  int64_t first;
};
std::optional<Positions> positions_of(const Tensor& value, const Tensor* mask, bool cropped) {
  if (mask == nullptr || value.rank() < 2 || value.dim(0) != mask->dim(0)) return std::nullopt;
  const int64_t length = mask->dim(1);
  if (value.rank() == 4 && (value.dim(2) == length || cropped))
    return Positions{2, length - value.dim(2)};
  if (value.dim(1) == length) return Positions{1, 0};
  return std::nullopt;
}

/// Compares where the mask gives outputs a meaning. `outputs` may have more places of a cache than
/// `want`: eager crops sliding layers, an export keeps all.
void expect_equal(const std::map<std::string, Tensor>& outputs,
                  const std::map<std::string, Tensor>& want, const Inputs& inputs,
                  double tolerance) {
  const auto given = inputs.find("attention_mask");
  const Tensor* mask =
      given != inputs.end() && given->second.rank() == 2 ? &given->second : nullptr;
  size_t compared = 0;
  for (const auto& [leaf, expected] : want) {
    if (leaf.find("_sliding_window_tensor") != std::string::npos) continue;  // eager's own
    ASSERT_TRUE(outputs.contains(leaf)) << leaf;
    Tensor value = outputs.at(leaf);
    const bool cropped = value.rank() == 4 && expected.rank() == 4 &&
                         leaf.starts_with("past_key_values") && value.dim(2) > expected.dim(2);
    if (cropped) value = tail(value, expected.dim(2));
    ASSERT_EQ(value.shape(), expected.shape()) << leaf;
    ASSERT_EQ(value.dtype(), expected.dtype()) << leaf;
    ++compared;
    if (value.dtype() != DType::kF32) {
      EXPECT_EQ(std::memcmp(value.data(), expected.data(), static_cast<size_t>(value.nbytes())), 0)
          << leaf;
      continue;
    }
    const auto positions = positions_of(value, mask, cropped);
    const double worst = max_difference(value, expected, [&](int64_t flat) {
      if (!positions) return true;
      int64_t inner = 1;
      for (size_t i = positions->axis + 1; i < value.shape().size(); ++i) inner *= value.shape()[i];
      const int64_t place = flat / inner % value.shape()[positions->axis] + positions->first;
      const int64_t row = flat / (value.numel() / value.dim(0));
      return mask->values<int64_t>()[static_cast<size_t>(row * mask->dim(1) + place)] != 0;
    });
    EXPECT_LE(worst, tolerance) << leaf;
  }
  EXPECT_GT(compared, 0u);
}

class DynamoReference : public testing::TestWithParam<std::string> {};

TEST_P(DynamoReference, GivesTheReferencesOutputs) {
  const fs::path folder = reference() / GetParam();
  const Json expected = expected_failures();
  const bool fails = expected.contains(GetParam());
  const auto check = [&] {
    const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
    const auto exported = ExportedModel::from_pretrained(folder);
    EXPECT_TRUE(exported.runners()[0].second.runtime().starts_with("libtorch "));
    expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"),
                 inputs, kTolerance);
  };
  if (!fails) return check();
  try {
    check();
  } catch (const Error&) {
    return;
  }
  ADD_FAILURE() << GetParam() << " passes: take it off expected_failures.json";
}

/// The same program as a source: imported, lowered to ONNX, run by ONNX Runtime.
TEST_P(DynamoReference, GivesThemThroughOnnxToo) {
  const fs::path folder = reference() / GetParam();
  const Json expected = expected_failures("expected_onnx_failures.json");
  const auto check = [&] {
    const Inputs inputs = read_safetensors(folder / "inputs.safetensors");
    const auto exported =
        OnnxExporter().export_model(TorchProgram::load(folder / "model.pt2"), OnnxConfig());
    expect_equal(by_name(exported(inputs)), read_safetensors(folder / "outputs.safetensors"),
                 inputs, kOtherRuntime);
  };
  if (!expected.contains(GetParam())) return check();
  try {
    check();
  } catch (const Error&) {
    return;
  }
  ADD_FAILURE() << GetParam() << " passes: take it off expected_onnx_failures.json";
}

INSTANTIATE_TEST_SUITE_P(Golden, DynamoReference, testing::ValuesIn(cases()), test_name);

TEST(DynamoReferenceCases, AreAllThereAndFewMayFail) {
  const std::vector<std::string> names = cases();
  EXPECT_EQ(names.size(), kCases);
  for (const char* file : {"expected_failures.json", "expected_onnx_failures.json"}) {
    const Json expected = expected_failures(file);
    EXPECT_LE(expected.size() * 20, names.size());
    for (const auto& [name, reason] : expected.items()) {
      EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
      EXPECT_FALSE(reason.get<std::string>().empty()) << name;
    }
  }
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

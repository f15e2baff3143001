// Golden cases at the example's size: every output leaf equals the reference's.
#include "base/json.h"
#include "golden_util.h"

namespace slipway::golden {
namespace {

// float32 sums in another order; the reference itself is within 4e-6 of float64 on these cases.
constexpr double kTolerance = 1e-4;

struct Case {
  const char* name;
  const char* task;
};

class Example : public testing::TestWithParam<std::tuple<Case, const char*>> {};

/// Whether the attention mask keeps the position that a flat index of `shape` belongs to.
bool kept(const Tensor& mask, const Shape& shape, int64_t flat, int64_t sequence_axis) {
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(sequence_axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t position = flat / inner % shape[static_cast<size_t>(sequence_axis)];
  int64_t row = inner * shape[static_cast<size_t>(sequence_axis)];
  for (int64_t i = 1; i < sequence_axis; ++i) row *= shape[static_cast<size_t>(i)];
  return mask.values<int64_t>()[static_cast<size_t>(flat / row * mask.dim(1) + position)] != 0;
}

TEST_P(Example, EqualsTheReference) {
  const auto [one, format] = GetParam();
  const auto path = folder(one.name);
  const auto inputs = read_safetensors(path / "inputs.safetensors");
  const auto want = read_safetensors(path / "outputs.safetensors");
  const Tensor& mask = inputs.at("attention_mask");
  const ExportedModel exported = export_case(one.name, one.task, inputs, format);
  const auto got = by_name(exported(inputs));
  int64_t compared = 0;
  for (const auto& [leaf, expected] : want) {
    if (leaf.find("_sliding_window_tensor") != std::string::npos)
      continue;  // a scalar of eager's cache
    ASSERT_EQ(got.count(leaf), 1u) << leaf;
    Tensor value = got.at(leaf);
    const bool cache = leaf.starts_with("past_key_values");
    if (cache && value.dim(2) != expected.dim(2)) {
      // Eager crops a sliding layer's keys to window - 1; an export keeps them all. Compare the
      // tail.
      const int64_t drop = value.dim(2) - expected.dim(2), width = value.dim(3);
      Tensor tail(DType::kF32, expected.shape());
      for (int64_t outer = 0; outer < value.dim(0) * value.dim(1); ++outer)
        std::copy_n(value.values<float>().data() + (outer * value.dim(2) + drop) * width,
                    expected.dim(2) * width,
                    tail.mutable_values<float>().data() + outer * expected.dim(2) * width);
      value = tail;
    }
    ASSERT_EQ(value.shape(), expected.shape()) << leaf;
    const bool positional = cache || (value.rank() >= 2 && value.dim(1) == mask.dim(1));
    const int64_t offset = cache ? mask.dim(1) - value.dim(2) : 0;
    const double worst = max_difference(value, expected, [&](int64_t flat) {
      if (!positional) return true;
      if (!cache) return kept(mask, value.shape(), flat, 1);
      const int64_t position = flat / value.dim(3) % value.dim(2) + offset;
      const int64_t row = flat / (value.dim(1) * value.dim(2) * value.dim(3));
      return mask.values<int64_t>()[static_cast<size_t>(row * mask.dim(1) + position)] != 0;
    });
    EXPECT_LE(worst, kTolerance) << leaf;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

constexpr Case kCases[] = {{"llama-causal-lm", "text-generation"},
                           {"mistral-causal-lm", "text-generation"},
                           {"qwen2-causal-lm", "text-generation"},
                           {"qwen3-causal-lm", "text-generation"},
                           {"bert-base", "auto"},
                           {"bert-masked-lm", "auto"},
                           {"bert-sequence-classification", "auto"},
                           {"bert-token-classification", "auto"},
                           {"bert-question-answering", "auto"}};

INSTANTIATE_TEST_SUITE_P(Golden, Example,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values("onnx", "openvino", "executorch")),
                         [](const auto& made) {
                           return case_label(std::get<0>(made.param).name, std::get<1>(made.param));
                         });

}  // namespace
}  // namespace slipway::golden

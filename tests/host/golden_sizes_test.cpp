// Golden cases at other sizes: batches, lengths, pasts and paddings against rows evaluated alone.
#include <fmt/format.h>

#include "golden_util.h"

namespace slipway::golden {
namespace {

constexpr double kTolerance = 1e-4;  // float32 sums in another order
enum class Pad { kLeft, kRight };

/// A batch of rows with different numbers of pads; `total` slots a row.
struct Batch {
  int64_t rows, total;
  Pad side;
  int64_t pads(int64_t row) const { return std::min(row, total - 1); }
  bool real(int64_t row, int64_t slot) const {
    return side == Pad::kLeft ? slot >= pads(row) : slot < total - pads(row);
  }
  /// The position in the row without its padding.
  int64_t position(int64_t row, int64_t slot) const {
    return side == Pad::kLeft ? slot - pads(row) : slot;
  }

  Tensor column_range(const Tensor& source, int64_t begin, int64_t end) const {
    Tensor out(DType::kI64, {rows, end - begin});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t s = begin; s < end; ++s)
        if (real(r, s))
          out.mutable_values<int64_t>()[static_cast<size_t>(r * (end - begin) + s - begin)] =
              source.values<int64_t>()[static_cast<size_t>(r * source.dim(1) + position(r, s))];
    return out;
  }
  Tensor mask(int64_t end) const {
    Tensor out(DType::kI64, {rows, end});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t s = 0; s < end; ++s)
        out.mutable_values<int64_t>()[static_cast<size_t>(r * end + s)] = real(r, s) ? 1 : 0;
    return out;
  }
};

/// Compares [rows, heads..., slots, width] at real slots with single rows; slots begin at `first`.
double worst_over_slots(const Batch& batch, const Tensor& got, const Tensor& rows, int64_t first) {
  const int64_t slots = got.dim(-2), width = got.dim(-1);
  const int64_t heads = got.rank() == 4 ? got.dim(1) : 1;
  double worst = 0;
  for (int64_t r = 0; r < batch.rows; ++r)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < slots; ++s) {
        if (!batch.real(r, first + s)) continue;
        const int64_t position = batch.position(r, first + s);
        for (int64_t c = 0; c < width; ++c) {
          const double a =
              got.values<float>()[static_cast<size_t>(((r * heads + h) * slots + s) * width + c)];
          const double b = rows.values<float>()[static_cast<size_t>(
              ((r * heads + h) * rows.dim(-2) + position) * width + c)];
          worst = std::isfinite(a) ? std::max(worst, std::abs(a - b)) : INFINITY;
        }
      }
  return worst;
}

/// A golden case and what it is exported as.
using Exported = std::tuple<const char*, const char*>;

class Decoder : public testing::TestWithParam<Exported> {};

TEST_P(Decoder, EverySizeEqualsRowsAlone) {
  const auto [name, format] = GetParam();
  const auto rows = read_safetensors(folder(name) / "rows.safetensors");
  const ExportedModel model = export_case(name, "text-generation-with-past", {}, format);
  const ExportedModel plain = export_case(name, "text-generation", {}, format);
  // Caches can be had by name where the graph keeps them inside.
  std::vector<std::string> leaves = {"logits"};
  for (const auto& [leaf, value] : rows)
    if (leaf.starts_with("past_key_values")) leaves.push_back(leaf);
  const auto cached = [&](const Inputs& inputs) {
    return model.runners()[0].second(inputs, leaves);
  };
  for (const int64_t count : {1, 2, 3})
    for (const int64_t length : {1, 2, 7, 16})
      for (const int64_t past : {0, 1, 5})
        for (const Pad side : {Pad::kLeft, Pad::kRight}) {
          const Batch batch{count, past + length, side};
          const std::string what = fmt::format("{} rows, length {}, past {}, {}", count, length,
                                               past, side == Pad::kLeft ? "left" : "right");
          Inputs inputs;
          if (past > 0) {
            Inputs prefill = {{"input_ids", batch.column_range(rows.at("input_ids"), 0, past)},
                              {"attention_mask", batch.mask(past)}};
            for (const auto& [leaf, value] : cached(prefill))
              if (leaf.starts_with("past_key_values")) inputs[leaf] = value;
          }
          inputs["input_ids"] = batch.column_range(rows.at("input_ids"), past, past + length);
          inputs["attention_mask"] = batch.mask(past + length);
          const auto got = by_name(cached(inputs));
          ASSERT_EQ(got.at("logits").shape(), (Shape{count, length, rows.at("logits").dim(2)}))
              << what;
          EXPECT_LE(worst_over_slots(batch, got.at("logits"), rows.at("logits"), past), kTolerance)
              << what;
          for (const auto& [leaf, value] : got) {
            if (!leaf.starts_with("past_key_values")) continue;
            ASSERT_EQ(value.dim(2), past + length) << what << leaf;
            EXPECT_LE(worst_over_slots(batch, value, rows.at(leaf), 0), kTolerance) << what << leaf;
          }
          if (past == 0) {
            const double worst =
                worst_over_slots(batch, by_name(plain(inputs)).at("logits"), rows.at("logits"), 0);
            EXPECT_LE(worst, kTolerance) << "without a cache: " << what;
          }
        }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Decoder,
    testing::Combine(testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                     "qwen3-causal-lm"),
                     testing::Values("onnx", "openvino", "openvino_stateless", "executorch")),
    [](const auto& made) { return case_label(std::get<0>(made.param), std::get<1>(made.param)); });

class Encoder : public testing::TestWithParam<Exported> {};

TEST_P(Encoder, EverySizeEqualsRowsAlone) {
  const auto [name, format] = GetParam();
  const auto rows = read_safetensors(folder(name) / "rows.safetensors");
  const ExportedModel exported = export_case(name, "auto", {}, format);
  for (const int64_t count : {1, 2, 3})
    for (const int64_t length : {1, 2, 7, 16}) {
      // Rows of 1, 2, 7, 16 real tokens padded on the right to `length`: an encoder's padding.
      for (const int64_t real : {1, 2, 7, 16}) {
        if (real > length) continue;
        Inputs inputs;
        for (const char* input : {"input_ids", "token_type_ids", "attention_mask"}) {
          Tensor t(DType::kI64, {count, length});
          for (int64_t r = 0; r < count; ++r)
            for (int64_t s = 0; s < real; ++s)
              t.mutable_values<int64_t>()[static_cast<size_t>(r * length + s)] =
                  std::string(input) == "attention_mask"
                      ? 1
                      : rows.at(input)
                            .values<int64_t>()[static_cast<size_t>(r * rows.at(input).dim(1) + s)];
          inputs[input] = t;
        }
        for (const auto& [leaf, value] : exported(inputs))
          for (int64_t r = 0; r < count; ++r) {
            const Tensor& want =
                rows.at("L" + std::to_string(real) + ".R" + std::to_string(r) + "." + leaf);
            const auto expected = want.values<float>();
            const int64_t stride = value.numel() / count;
            double worst = 0;
            for (size_t i = 0; i < expected.size(); ++i)
              worst = std::max<double>(
                  worst, std::abs(value.values<float>()[static_cast<size_t>(r * stride) + i] -
                                  expected[i]));
            EXPECT_LE(worst, kTolerance)
                << leaf << " row " << r << " of " << count << ", " << real << " of " << length;
          }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Encoder,
    testing::Combine(testing::Values("bert-base", "bert-masked-lm", "bert-sequence-classification",
                                     "bert-token-classification", "bert-question-answering"),
                     testing::Values("onnx", "openvino", "executorch")),
    [](const auto& made) { return case_label(std::get<0>(made.param), std::get<1>(made.param)); });

}  // namespace
}  // namespace slipway::golden

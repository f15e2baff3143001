// PC-14, PC-16, PC-17: padding with and without positions, masked rows, and batches of prompts.
#include "case_util.h"
#include "slipway/generation.h"

namespace slipway::cases {
namespace {

constexpr double kTolerance = 1e-4;  // float32 sums in another order

class Decoders : public testing::TestWithParam<const char*> {
 protected:
  ExportedModel exported(bool optimize) const {
    OnnxConfig config = dynamic_config();
    config.optimize = optimize;
    return export_checkpoint(golden::folder(GetParam()), "text-generation-with-past", config);
  }
};

/// Row `row` of a batch without its first `pads` slots.
Tensor row_of(const Tensor& batch, int64_t row, int64_t pads) {
  const int64_t length = batch.dim(1);
  return Tensor::copy_of<int64_t>(
      {1, length - pads}, batch.values<int64_t>().subspan(static_cast<size_t>(row * length + pads),
                                                          static_cast<size_t>(length - pads)));
}

struct Padded {
  Tensor ids = token_ids(2, 8), mask{DType::kI64, {2, 8}}, positions{DType::kI64, {2, 8}};
  Padded() {  // 3 tokens after 5 pads, and 8 tokens
    for (size_t slot = 0; slot < 16; ++slot) {
      const bool pad = slot < 5;
      mask.mutable_values<int64_t>()[slot] = pad ? 0 : 1;
      positions.mutable_values<int64_t>()[slot] =
          static_cast<int64_t>(slot < 8 ? pad ? 1 : slot - 5 : slot - 8);
    }
  }
};

double row_difference(const Tensor& batch, int64_t row, int64_t pads, const Tensor& alone) {
  const int64_t length = batch.dim(1), width = batch.dim(2);
  double worst = 0;
  for (int64_t i = 0; i < (length - pads) * width; ++i) {
    const double d =
        double{batch.values<float>()[static_cast<size_t>((row * length + pads) * width + i)]} -
        double{alone.values<float>()[static_cast<size_t>(i)]};
    worst = std::isfinite(d) ? std::max(worst, std::abs(d)) : INFINITY;
  }
  return worst;
}

TEST_P(Decoders, LeftPaddingWithAndWithoutPositions) {
  const Padded batch;
  for (const bool optimize : {true, false}) {
    const ExportedModel model = exported(optimize);
    for (const bool with_positions : {true, false}) {
      Inputs inputs = {{"input_ids", batch.ids}, {"attention_mask", batch.mask}};
      if (with_positions) inputs["position_ids"] = batch.positions;
      const Tensor logits = by_name(model(inputs)).at("logits");
      for (const auto& [row, pads] : {std::pair<int64_t, int64_t>{0, 5}, {1, 0}}) {
        const Inputs alone = {{"input_ids", row_of(batch.ids, row, pads)}};
        EXPECT_LE(row_difference(logits, row, pads, by_name(model(alone)).at("logits")), kTolerance)
            << "row " << row << (with_positions ? ", positions given" : "")
            << (optimize ? "" : ", not optimized");
      }
    }
  }
}

bool all_finite(const Outputs& outputs) {
  for (const auto& [name, tensor] : outputs)
    for (const float v : tensor.values<float>())
      if (!std::isfinite(v)) return false;
  return true;
}

TEST_P(Decoders, ARowThatIsMaskedWhollyIsFiniteAndHarmless) {
  for (const bool optimize : {true, false}) {
    const ExportedModel model = exported(optimize);
    Inputs inputs = {{"input_ids", token_ids(2, 6)}};
    Tensor mask(DType::kI64, {2, 6});
    for (size_t slot = 0; slot < 6; ++slot) mask.mutable_values<int64_t>()[slot] = 1;
    inputs["attention_mask"] = mask;
    const Outputs outputs = model(inputs);
    EXPECT_TRUE(all_finite(outputs));
    const auto alone = by_name(model({{"input_ids", row_of(token_ids(2, 6), 0, 0)}}));
    EXPECT_LE(row_difference(by_name(outputs).at("logits"), 0, 0, alone.at("logits")), kTolerance);

    Inputs next = {{"input_ids", token_ids(2, 1)}, {"attention_mask", Tensor(DType::kI64, {2, 7})}};
    for (const auto& [name, tensor] : outputs)
      if (name.starts_with("past_key_values")) next[name] = tensor;
    EXPECT_TRUE(all_finite(model(next))) << "every key masked, with a cache";
  }
}

TEST_P(Decoders, PromptsTogetherContinueAsAlone) {
  const Padded batch;
  const ExportedModel model = exported(true);
  GenerationOptions options;
  options.max_new_tokens = 6;
  options.ignore_eos = true;
  const Generated together =
      generate(model, {{"input_ids", batch.ids}, {"attention_mask", batch.mask}}, options);
  ASSERT_EQ(together.new_ids.size(), 2u);
  for (const auto& [row, pads] : {std::pair<int64_t, int64_t>{0, 5}, {1, 0}}) {
    const Generated alone = generate(model, {{"input_ids", row_of(batch.ids, row, pads)}}, options);
    EXPECT_EQ(alone.new_ids.at(0).size(), 6u);
    EXPECT_EQ(together.new_ids.at(static_cast<size_t>(row)), alone.new_ids.at(0)) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(CaseMasks, Decoders,
                         testing::Values("llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm",
                                         "qwen3-causal-lm"),
                         [](const auto& param) {
                           return std::string(param.param, std::strcspn(param.param, "-"));
                         });

TEST(CaseMasks, AnEncoderRowThatIsMaskedWhollyIsFinite) {
  for (const bool optimize : {true, false}) {
    OnnxConfig config = dynamic_config();
    config.optimize = optimize;
    const ExportedModel model = export_checkpoint(golden::folder("bert-base"), "auto", config);
    Tensor mask(DType::kI64, {2, 6});
    for (size_t slot = 0; slot < 6; ++slot) mask.mutable_values<int64_t>()[slot] = 1;
    const Outputs outputs = model({{"input_ids", token_ids(2, 6)}, {"attention_mask", mask}});
    EXPECT_TRUE(all_finite(outputs));
    const auto alone = by_name(model({{"input_ids", row_of(token_ids(2, 6), 0, 0)}}));
    EXPECT_LE(row_difference(by_name(outputs).at("last_hidden_state"), 0, 0,
                             alone.at("last_hidden_state")),
              kTolerance);
  }
}

}  // namespace
}  // namespace slipway::cases

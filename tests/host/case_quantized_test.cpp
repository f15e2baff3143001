// PC-11, PC-13: packed schemes are refused by name, FP8 is multiplied by its scales.
#include "case_util.h"

namespace slipway::cases {
namespace {

/// Replaces every linear weight of the layers by tensors of a packed scheme.
Draft packed(const Json& scheme, const std::vector<std::pair<std::string, Tensor>>& parts) {
  Draft draft = Draft::golden("llama-causal-lm");
  if (!scheme.is_null()) draft.config["quantization_config"] = scheme;
  const std::map<std::string, Tensor> plain = draft.tensors;
  for (const auto& [name, tensor] : plain) {
    if (!name.ends_with("_proj.weight")) continue;
    draft.tensors.erase(name);
    for (const auto& [part, value] : parts)
      draft.tensors[name.substr(0, name.size() - 6) + part] = value;
  }
  return draft;
}

const std::vector<std::pair<std::string, Tensor>>& gptq_parts() {
  static const std::vector<std::pair<std::string, Tensor>> parts = {
      {"qweight", Tensor(DType::kI32, {4, 32})},
      {"qzeros", Tensor(DType::kI32, {1, 4})},
      {"scales", Tensor(DType::kF16, {1, 32})},
      {"g_idx", Tensor(DType::kI32, {32})}};
  return parts;
}

TEST(CaseQuantized, EveryOtherSchemeIsNamed) {
  struct Case {
    Json config;
    std::vector<std::pair<std::string, Tensor>> parts;
    const char* says;
  };
  const std::vector<std::pair<std::string, Tensor>> bnb = {
      {"weight", Tensor(DType::kU8, {512, 1})}, {"weight.absmax", Tensor(DType::kF32, {16})}};
  const Case cases[] = {
      {{{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}}, gptq_parts(), "gptq"},
      {{{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}}, gptq_parts(), "awq"},
      {{{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}, bnb, "bitsandbytes"},
      {{{"load_in_8bit", true}}, bnb, "bitsandbytes"},
      {{{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"}},
       {{"weight_packed", Tensor(DType::kI32, {32, 4})}},
       "compressed-tensors format \"pack-quantized\""},
      {{{"quant_method", "tomorrows-method"}}, gptq_parts(), "tomorrows-method"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.config.dump());
    const std::string message = refused(packed(c.config, c.parts), 4);
    EXPECT_TRUE(contains(message, c.says));
    EXPECT_TRUE(contains(message, "dequantize it once"));
    EXPECT_EQ(message.find("missing"), std::string::npos) << "an unrelated complaint";
  }
}

TEST(CaseQuantized, PackedTensorsAloneAreRefused) {
  EXPECT_TRUE(contains(refused(packed(nullptr, gptq_parts()), 4), "gptq"));
}

TEST(CaseQuantized, ASchemeWithoutANameIsRefused) {
  EXPECT_TRUE(contains(refused(packed({{"bits", 4}}, gptq_parts()), 3), "quant_method"));
}

TEST(CaseQuantized, IntegersAreNeverWeights) {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.tensors["model.layers.0.mlp.up_proj.weight"] = Tensor(DType::kI8, {64, 32});
  EXPECT_TRUE(contains(refused(draft, 3), "model.layers.0.mlp.up_proj.weight is i8 [64, 32]"));
}

/// OCP E4M3: a sign, 4 exponent bits of bias 7, 3 fraction bits.
float e4m3(uint8_t code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return static_cast<float>((code & 0x80) != 0 ? -magnitude : magnitude);
}

constexpr const char* kWeight = "model.layers.0.mlp.up_proj.weight";

/// A llama of width 136 whose up_proj is [200, 136]: 2 by 2 blocks of 128, the last ones partial.
Draft wide() {
  Draft draft = Draft::golden("llama-causal-lm");
  draft.config["hidden_size"] = 136;
  draft.config["intermediate_size"] = 200;
  uint32_t seed = 1;
  for (auto& [name, tensor] : draft.tensors) {
    Shape shape = tensor.shape();
    for (int64_t& d : shape) d = d == 32 ? 136 : d == 64 ? 200 : d;
    if (name.ends_with("q_proj.weight")) shape = {32, 136};
    if (name.ends_with("o_proj.weight")) shape = {136, 32};
    tensor = random_tensor(shape, seed++);
  }
  return draft;
}

struct Fp8 {
  Tensor codes{DType::kF8E4M3, {200, 136}}, scales{DType::kF32, {2, 2}};
  Fp8() {
    std::minstd_rand random(5);
    for (int64_t i = 0; i < codes.numel(); ++i) {
      auto code = static_cast<uint8_t>(random() >> 8);
      if ((code & 0x7f) == 0x7f) code = 0;  // NaN
      codes.mutable_data()[i] = static_cast<std::byte>(code);
    }
    const float values[] = {0.001F, 0.003F, 0.0005F, 0.0071F};
    std::copy_n(values, 4, scales.mutable_values<float>().data());
  }
  Tensor plain() const {
    Tensor out(DType::kF32, {200, 136});
    for (int64_t r = 0; r < 200; ++r)
      for (int64_t c = 0; c < 136; ++c)
        out.mutable_values<float>()[static_cast<size_t>(r * 136 + c)] =
            e4m3(static_cast<uint8_t>(codes.data()[r * 136 + c])) *
            scales.values<float>()[static_cast<size_t>(r / 128 * 2 + c / 128)];
    return out;
  }
};

const Json& fp8_config() {
  static const Json config = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  return config;
}

TEST(CaseQuantized, BlockScaledFp8IsItsDequantization) {
  const Fp8 fp8;
  Draft plain = wide();
  plain.tensors[kWeight] = fp8.plain();
  const GraphBytes want = bytes_of(plain);
  for (const char* scale : {"_scale_inv", "_scale"}) {
    Draft draft = wide();
    draft.config["quantization_config"] = fp8_config();
    draft.tensors[kWeight] = fp8.codes;
    draft.tensors[kWeight + std::string(scale)] = fp8.scales;
    EXPECT_TRUE(bytes_of(draft) == want) << scale;
  }
}

TEST(CaseQuantized, Fp8WithoutItsScaleIsRefused) {
  const Fp8 fp8;
  Draft draft = wide();
  draft.config["quantization_config"] = fp8_config();
  draft.tensors[kWeight] = fp8.codes;
  for (const bool stated : {true, false}) {
    if (!stated) draft.config.erase("quantization_config");
    const std::string message = refused(draft, 3);
    EXPECT_TRUE(contains(message, kWeight));
    EXPECT_TRUE(contains(message, "no scale"));
  }
}

TEST(CaseQuantized, Fp8ScalesThatDoNotFitAreRefused) {
  const Fp8 fp8;
  Draft draft = wide();
  draft.config["quantization_config"] = fp8_config();
  draft.tensors[kWeight] = fp8.codes;
  draft.tensors[kWeight + std::string("_scale_inv")] = Tensor(DType::kF32, {2, 1});
  EXPECT_TRUE(contains(refused(draft, 3), "[2, 2]"));
  draft.tensors[kWeight + std::string("_scale_inv")] = fp8.scales;
  draft.config.erase("quantization_config");  // a grid whose block size nothing states
  EXPECT_TRUE(contains(refused(draft, 3), "no blocks"));
}

}  // namespace
}  // namespace slipway::cases

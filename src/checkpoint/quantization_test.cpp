// FP8 weights with their scales and the refusal of other schemes (PC-11, PC-13).
#include "checkpoint/quantization.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/floats.h"
#include "base/test_expect.h"
#include "checkpoint/fp8.h"
#include "checkpoint/memory_store.h"

namespace slipway {
namespace {

using Tensors = std::map<std::string, Tensor>;

constexpr int64_t kRows = 200, kColumns = 136;  // one whole and one partial block each way

Tensor codes(DType dtype = DType::kF8E4M3) {
  Tensor t(dtype, {kRows, kColumns});
  for (int64_t i = 0; i < t.numel(); ++i) {
    const auto code = static_cast<uint8_t>((i * 31 + i / 136) % 256);
    t.mutable_data()[i] = static_cast<std::byte>((code & 0x7c) == 0x7c ? 0x11 : code);
  }
  return t;
}

float scale_at(int64_t i, int64_t j) {
  return 0.5f + static_cast<float>(i) * 3 + static_cast<float>(j);
}

Tensor grid(Shape shape) {
  Tensor t(DType::kF32, shape);
  const int64_t columns = shape.size() > 1 ? shape[1] : 1;
  for (int64_t i = 0; i < t.numel(); ++i)
    t.mutable_values<float>()[static_cast<size_t>(i)] = scale_at(i / columns, i % columns);
  return t;
}

std::shared_ptr<const WeightStore> open(const Tensors& tensors, const std::string& config) {
  return open_quantization(std::make_shared<MemoryStore>(tensors),
                           Config::from_json(Json::parse(config), "config.json"));
}

void expect_dequantized(const WeightStore& store, int64_t block_rows, int64_t block_columns) {
  EXPECT_EQ(store.names(), std::vector<std::string>{"a.weight"});
  const Lazy lazy = store.find("a.weight");
  ASSERT_NE(lazy, nullptr);
  EXPECT_EQ(lazy, store.find("a.weight"));
  EXPECT_EQ(lazy->dtype(), DType::kF32);
  const Tensor whole = materialize(*lazy), x = codes();
  ASSERT_EQ(whole.shape(), (Shape{kRows, kColumns}));
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      const auto at = static_cast<size_t>(i * kColumns + j);
      const float code = f8e4m3_to_float(std::to_integer<uint8_t>(x.data()[at]));
      ASSERT_EQ(whole.values<float>()[at], code * scale_at(i / block_rows, j / block_columns))
          << i << ", " << j;
    }
  std::vector<float> part(1000);  // across rows and blocks, from the middle of one
  lazy->read(130 * kColumns + 77, 1000, reinterpret_cast<std::byte*>(part.data()));
  EXPECT_EQ(std::memcmp(part.data(), whole.data() + (130 * kColumns + 77) * 4, 4000), 0);
}

const std::string kFp8 =
    R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})";

TEST(Fp8, BlockGridWithPartialEdges) {
  for (const char* spelling : {"a.weight_scale_inv", "a.weight_scale"}) {
    expect_dequantized(*open({{"a.weight", codes()}, {spelling, grid({2, 2})}}, kFp8), 128, 128);
    expect_dequantized(*open({{"a.weight", codes()}, {spelling, grid({2, 2})}},
                             R"({"quantization_config":{"quant_method":"fp8"}})"),
                       128, 128);
  }
  expect_dequantized(
      *open({{"a.weight", codes()}, {"a.weight_scale_inv", grid({7, 5})}},
            R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[32,32]}})"),
      32, 32);
}

TEST(Fp8, OneScaleInAllAndOnePerRow) {
  const std::string plain =
      R"({"quantization_config":{"quant_method":"fp8","weight_block_size":null}})";
  const std::string compressed =
      R"({"quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized",
          "config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float","strategy":"channel"}}}}})";
  for (const std::string& config : {plain, compressed, std::string("{}")}) {
    expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({1})}}, config), kRows,
                       kColumns);
    expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({})}}, config), kRows,
                       kColumns);
    expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({kRows, 1})}}, config),
                       1, kColumns);
    expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({kRows})}}, config), 1,
                       kColumns);
  }
}

TEST(Fp8, CompressedTensorsBlocksAndGroups) {
  const auto config = [](const std::string& weights) {
    return R"({"quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized",
      "config_groups":{"g":{"weights":{"num_bits":8,"type":"float",)" +
           weights + "}}}}}";
  };
  expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({2, 2})}},
                           config(R"("strategy":"block","block_structure":[128,128])")),
                     128, 128);
  expect_dequantized(*open({{"a.weight", codes()}, {"a.weight_scale", grid({kRows, 2})}},
                           config(R"("strategy":"group","group_size":128)")),
                     1, 128);
}

TEST(Fp8, ScalesOfKernelsAreLeftOutAndPlainTensorsPass) {
  const Tensors tensors{{"a.weight", codes()},       {"a.weight_scale_inv", grid({2, 2})},
                        {"a.input_scale", grid({})}, {"attn.k_scale", grid({})},
                        {"norm.weight", grid({8})},  {"b.weight_scale", grid({1})}};
  const auto store = open(tensors, kFp8);
  EXPECT_EQ(store->names(), (std::vector<std::string>{"a.weight", "b.weight_scale", "norm.weight"}))
      << "a scale without its FP8 weight is for the audit to report";
  EXPECT_EQ(store->find("a.weight_scale_inv"), nullptr);
  EXPECT_EQ(store->find("norm.weight")->dtype(), DType::kF32);
}

TEST(Fp8, E5M2AndHalfScales) {
  Tensor scale(DType::kBF16, {1});
  const uint16_t two = float_to_bf16(2.0f);
  std::memcpy(scale.mutable_data(), &two, 2);
  const auto store = open({{"w", codes(DType::kF8E5M2)}, {"w_scale", scale}}, kFp8);
  const Tensor x = codes(DType::kF8E5M2);
  EXPECT_EQ(materialize(*store->find("w")).values<float>()[5],
            2 * f8e5m2_to_float(std::to_integer<uint8_t>(x.data()[5])));
}

TEST(Fp8, MissingAndWrongScalesAreErrors) {
  for (const std::string& config : {kFp8, std::string("{}")}) {
    const std::string text = error_of(kInvalid, [&] { open({{"a.weight", codes()}}, config); });
    EXPECT_TRUE(contains(text, "a.weight_scale_inv"));
    EXPECT_TRUE(contains(text, "no scale"));
  }
  const auto with = [](Tensor scale) {
    return Tensors{{"a.weight", codes()}, {"a.weight_scale_inv", scale}};
  };
  std::string text = error_of(kInvalid, [&] { open(with(grid({2, 3})), kFp8); });
  EXPECT_TRUE(contains(text, "a.weight_scale_inv has shape [2, 3]"));
  EXPECT_TRUE(contains(text, "128 by 128, [2, 2]"));
  text = error_of(kInvalid, [&] { open(with(grid({2, 2})), "{}"); });
  EXPECT_TRUE(contains(text, "the config states no blocks"));
  text = error_of(kUnsupported, [&] { open(with(Tensor(DType::kU8, {2, 2})), kFp8); });
  EXPECT_TRUE(contains(text, "u8"));
  text = error_of(kUnsupported, [&] {
    open({{"e", Tensor(DType::kF8E4M3, {2, 3, 4})}, {"e_scale", grid({1})}}, kFp8);
  });
  EXPECT_TRUE(contains(text, "[2, 3, 4]"));
  Tensors both = with(grid({2, 2}));
  both.emplace("a.weight_scale", grid({2, 2}));
  EXPECT_TRUE(contains(error_of(kInvalid, [&] { open(both, kFp8); }), "both"));
  text = error_of(kInvalid, [&] {
    open(with(grid({2, 2})),
         R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[0,128]}})");
  });
  EXPECT_TRUE(contains(text, "weight_block_size"));
}

TEST(Quantization, PlainCheckpointsAreLeftAlone) {
  const auto plain = std::make_shared<MemoryStore>(Tensors{{"w", grid({2})}});
  EXPECT_EQ(open_quantization(plain, Config::from_json(Json::object(), "c")), plain);
}

TEST(Quantization, OtherSchemesAreRefusedByName) {
  const auto refused = [](const std::string& quantization, const std::string& tensor,
                          const char* scheme) {
    const std::string config =
        quantization.empty() ? "{}" : R"({"quantization_config":)" + quantization + "}";
    const std::string text = error_of(kUnsupported, [&] {
      open({{tensor, Tensor(DType::kI32, {4, 4})}}, config);
    });
    EXPECT_TRUE(contains(text, scheme));
    EXPECT_TRUE(contains(text, "use the unquantized checkpoint"));
  };
  refused(R"({"quant_method":"gptq","bits":4})", "a.qweight", "gptq");
  refused(R"({"quant_method":"awq","bits":4})", "a.qweight", "awq");
  refused(R"({"quant_method":"bitsandbytes","load_in_4bit":true})", "a.weight", "bitsandbytes");
  refused(R"({"load_in_8bit":true})", "a.weight", "bitsandbytes");
  refused(R"({"quant_method":"mxfp4"})", "a_blocks", "mxfp4");
  refused(R"({"quant_method":"some_future_scheme"})", "a.weight", "some_future_scheme");
  refused(R"({"quant_method":"compressed-tensors","format":"pack-quantized"})", "a.weight_packed",
          "pack-quantized");
  refused(R"({"quant_method":"compressed-tensors","format":"naive-quantized",
             "config_groups":{"g":{"weights":{"num_bits":8,"type":"int"}}}})",
          "a.weight", "8-bit int");
  refused(R"({"quant_method":"compressed-tensors","format":"float-quantized",
             "sparsity_config":{"format":"sparse-24-bitmask"}})",
          "a.weight", "sparse-24-bitmask");
  for (const auto& [name, scheme] :
       std::map<std::string, const char*>{{"a.qweight", "gptq"},
                                          {"a.qzeros", "awq"},
                                          {"a.weight_packed", "compressed-tensors"},
                                          {"a.weight.quant_state.x", "bitsandbytes"}})
    refused("", name, scheme);
}

}  // namespace
}  // namespace slipway

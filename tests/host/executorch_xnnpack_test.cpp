// XNNPACK's delegate in the ExecuTorch runtime: our graphs, weights and quantization.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "executorch_util.h"

namespace slipway {
namespace {

using executorch_test::counted;
using executorch_test::floats;
using executorch_test::kCallerOwns;
using ExecutorchXnnpack = executorch_test::Programs;
namespace programs = executorch::testing;

TEST_F(ExecutorchXnnpack, RunsLinearLayers) {
  for (const auto& options : {executorch::PlanOptions{}, kCallerOwns}) {
    const Session session = open(programs::shared_program(), options);
    for (const int64_t rows : {2, 16, 1}) {
      const Tensor x = counted({rows, 8}), y = session.run({{"x", x}})[0].second;
      ASSERT_EQ(y.shape(), (Shape{rows, 3}));
      const float bias[] = {1, -50, 2};
      for (int64_t i = 0; i < rows * 3; ++i) {
        float want = bias[i % 3];
        for (int64_t k = 0; k < 8; ++k)
          want += static_cast<float>(i / 3 * 8 + k) * static_cast<float>(i % 3 * 8 + k) / 8;
        EXPECT_FLOAT_EQ(floats(y)[static_cast<size_t>(i)], std::max(want, 0.0f));
      }
    }
  }
}

TEST_F(ExecutorchXnnpack, KeepsStaticDataThatNoNodePacks) {
  const Session session = open(programs::scale_program());
  const Session shared = open(programs::shared_program());  // whose weights are in a cache
  for (const int64_t rows : {5, 16, 1}) {
    const Tensor x = counted({rows, 8}), y = session.run({{"x", x}})[0].second;
    const float scale[] = {1, -1, 2};
    for (int64_t i = 0; i < rows * 3; ++i) {
      float want = 0;
      for (int64_t k = 0; k < 8; ++k)
        want += static_cast<float>(i / 3 * 8 + k) * static_cast<float>(k) / 8 *
                static_cast<float>(i % 3 * 8 + k) / 8;
      EXPECT_FLOAT_EQ(floats(y)[static_cast<size_t>(i)], want * scale[i % 3]);
    }
  }
}

TEST_F(ExecutorchXnnpack, TakesSizesOfEachCall) {
  const Session session = open(programs::reshape_program());
  for (const int64_t rows : {3, 16, 1}) {
    const Tensor x = counted({rows, 4}), y = session.run({{"in0", x}})[0].second;
    ASSERT_EQ(y.shape(), (Shape{rows, 5}));
    // Columns 2, 3 of x, then x's columns 0, 2, 1: their differences are the same in every row.
    const float at[] = {2, 3, 0, 2, 1};
    float sum = 0;
    for (const float v : at) sum += std::exp(v);
    for (size_t i = 0; i < static_cast<size_t>(rows * 5); ++i)
      EXPECT_NEAR(floats(y)[i], std::exp(at[i % 5]) / sum, 1e-6);
  }
}

/// Weights of whole numbers, so that only the rounding of the input is left: 1/127 of its range.
TEST_F(ExecutorchXnnpack, TakesQuantizedWeights) {
  using executorch::xnnpack::DataType;
  const auto weight = [](int64_t row, int64_t column) { return (row * 5 + column * 3) % 15 - 7; };
  Tensor bytes(DType::kI8, {3, 64}), nibbles(DType::kU8, {3, 32});
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t c = 0; c < 64; ++c) {
      bytes.mutable_values<int8_t>()[static_cast<size_t>(r * 64 + c)] =
          static_cast<int8_t>(weight(r, c));
      auto& byte = nibbles.mutable_values<uint8_t>()[static_cast<size_t>(r * 32 + c / 2)];
      byte = static_cast<uint8_t>(byte | (weight(r, c) + 8) << (c % 2 * 4));
    }
  const Tensor channel = Tensor::of<float>({3}, {0.5f, 1, 2});
  Tensor block(DType::kBF16, {3, 2});
  const uint16_t halves[] = {0x3f00, 0x3f80, 0x4000};  // 0.5, 1, 2
  for (size_t i = 0; i < 6; ++i)
    std::memcpy(block.mutable_data() + i * 2, &halves[i % 2 + i / 2 % 2], 2);
  const executorch::xnnpack::Value filters[] = {
      {.type = DataType::kQcint8,
       .data = lazy_constant(bytes),
       .quantization = executorch::xnnpack::PerChannel{lazy_constant(channel), 0}},
      {.type = DataType::kQcint4,
       .data = lazy_constant(nibbles),
       .quantization = executorch::xnnpack::PerChannel{lazy_constant(channel), 0}},
      {.type = DataType::kQbint4,
       .data = lazy_constant(nibbles),
       .quantization = executorch::xnnpack::Blockwise{lazy_constant(block), 0, 32}}};
  for (const auto& filter : filters) {
    const Session session = open(programs::quantized_program(filter));
    for (const int64_t rows : {4, 16, 1}) {
      Tensor x(DType::kF32, {rows, 64});
      for (size_t i = 0; i < static_cast<size_t>(x.numel()); ++i)
        x.mutable_values<float>()[i] = static_cast<float>(i * 7 % 51) / 25 - 1;
      const std::vector<float> y = floats(session.run({{"in0", x}})[0].second);
      for (int64_t i = 0; i < rows * 3; ++i) {
        const auto r = static_cast<size_t>(i % 3);
        float want = 0, most = 0;
        for (int64_t c = 0; c < 64; ++c) {
          const size_t b = r * 2 + static_cast<size_t>(c / 32);
          const float blocks[] = {0.5f, 1, 2};
          const float scale = filter.type == DataType::kQbint4 ? blocks[b % 2 + b / 2 % 2]
                                                               : channel.values<float>()[r];
          const float w = static_cast<float>(weight(i % 3, c)) * scale;
          want += x.values<float>()[static_cast<size_t>(i / 3 * 64 + c)] * w;
          most += std::abs(w) / 127;
        }
        EXPECT_NEAR(y[static_cast<size_t>(i)], want, most) << "row " << i / 3;
      }
    }
  }
}

/// Elements of 16 bits by their upper half or as float16.
void set(Tensor& t, size_t i, float value) {
  uint16_t bits = 0;
  if (t.dtype() == DType::kF32) {
    t.mutable_values<float>()[i] = value;
    return;
  }
  if (t.dtype() == DType::kF16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(&bits, &half, sizeof(bits));
  } else {
    bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
  std::memcpy(t.mutable_data() + i * 2, &bits, sizeof(bits));
}

float get(const Tensor& t, size_t i) {
  if (t.dtype() == DType::kF32) return t.values<float>()[i];
  uint16_t bits = 0;
  std::memcpy(&bits, t.data() + i * 2, sizeof(bits));
  if (t.dtype() == DType::kBF16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  _Float16 half = 0;
  std::memcpy(&half, &bits, sizeof(bits));
  return half;
}

/// What layers of 16 bits XNNPACK has; they crash now and then where packed weights are shared.
TEST_F(ExecutorchXnnpack, TakesWeightsOf16Bits) {
  using executorch::xnnpack::DataType;
  const auto type = [](DType dtype) {
    return dtype == DType::kF32   ? DataType::kFp32
           : dtype == DType::kF16 ? DataType::kFp16
                                  : DataType::kBf16;
  };
  const DType cases[][3] = {{DType::kF16, DType::kF16, DType::kF16},
                            {DType::kF32, DType::kF16, DType::kF32},
                            {DType::kBF16, DType::kBF16, DType::kF32},
                            {DType::kBF16, DType::kBF16, DType::kBF16}};
  for (const auto& [in, weight, out] : cases) {
    Tensor w(weight, {3, 8}), x(in, {2, 8});
    for (size_t i = 0; i < 24; ++i) set(w, i, static_cast<float>(i) / 8);
    for (size_t i = 0; i < 16; ++i) set(x, i, static_cast<float>(i));
    executorch::xnnpack::Graph g;
    const auto a = g.add({.type = type(in), .shape = {programs::batch(), 8}});
    const auto b = g.add({.type = type(weight), .shape = {3, 8}, .data = lazy_constant(w)});
    const auto y = g.add({.type = type(out), .shape = {programs::batch(), 3}});
    g.nodes.push_back({.kind = executorch::xnnpack::NodeKind::kFullyConnected,
                       .inputs = {a, b, executorch::xnnpack::kNoValue},
                       .outputs = {y}});
    g.inputs = {a}, g.outputs = {y};
    executorch::Program program = programs::delegate_program(std::move(g));
    std::get<executorch::TensorValue>(program.methods[0].values[0]).dtype = in;
    std::get<executorch::TensorValue>(program.methods[0].values[1]).dtype = out;
    const Tensor result = open(program).run({{"in0", x}})[0].second;
    for (size_t i = 0; i < 6; ++i) {
      float want = 0;
      for (size_t k = 0; k < 8; ++k)
        want += static_cast<float>((i / 3 * 8 + k) * (i % 3 * 8 + k)) / 8;
      EXPECT_NEAR(get(result, i), want, out == DType::kBF16 ? want / 128 : 1e-3f)
          << torch_name(in) << " " << torch_name(weight) << " " << torch_name(out);
    }
  }
}

}  // namespace
}  // namespace slipway

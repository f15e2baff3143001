// Decoding of GGUF blocks of 32 elements and of plain elements to float32.
//
// Each product and sum is rounded to float32 on its own, in the order written here: the reference
// values are made that way, so no fused multiply-add may be formed.
#include "checkpoint/gguf_blocks.h"

#include "checkpoint/gguf_quant.h"

namespace slipway::gguf_blocks {

void decode_f32(const std::byte* blocks, int64_t count, float* out) {
  std::memcpy(out, blocks, static_cast<size_t>(count) * sizeof(float));
}

SLIPWAY_VECTORIZED void decode_f16(const std::byte* blocks, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, blocks + 2 * i, 2);
    // Scaling by 2^112 moves the exponent from half to single, subnormals included and exactly.
    const uint32_t magnitude = half & 0x7fffu;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const uint32_t special = (magnitude << 13) | 0x7f800000u;
    const uint32_t bits = magnitude >= 0x7c00u ? special : std::bit_cast<uint32_t>(scaled);
    out[i] = std::bit_cast<float>(bits | uint32_t{half & 0x8000u} << 16);
  }
}

SLIPWAY_VECTORIZED void decode_bf16(const std::byte* blocks, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t upper;
    std::memcpy(&upper, blocks + 2 * i, 2);
    out[i] = std::bit_cast<float>(uint32_t{upper} << 16);
  }
}

// d * (q - 8): the low nibbles are the first half of the block.
SLIPWAY_VECTORIZED void decode_q4_0(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 18, out += 32) {
    const float d = half(in);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>((in[2 + i] & 15) - 8);
      out[16 + i] = d * static_cast<float>((in[2 + i] >> 4) - 8);
    }
  }
}

// d * q + m
SLIPWAY_VECTORIZED void decode_q4_1(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 20, out += 32) {
    const float d = half(in), m = half(in + 2);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(in[4 + i] & 15) + m;
      out[16 + i] = d * static_cast<float>(in[4 + i] >> 4) + m;
    }
  }
}

// d * (q - 16): the fifth bit of element i is bit i of a 32-bit word.
SLIPWAY_VECTORIZED void decode_q5_0(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 22, out += 32) {
    const float d = half(in);
    uint32_t high;
    std::memcpy(&high, in + 2, 4);
    for (int i = 0; i < 16; ++i) {
      const int low_bit = static_cast<int>((high >> i) & 1u) << 4;
      const int high_bit = static_cast<int>((high >> (16 + i)) & 1u) << 4;
      out[i] = d * static_cast<float>(((in[6 + i] & 15) | low_bit) - 16);
      out[16 + i] = d * static_cast<float>(((in[6 + i] >> 4) | high_bit) - 16);
    }
  }
}

// d * q + m, with a fifth bit as in Q5_0
SLIPWAY_VECTORIZED void decode_q5_1(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 24, out += 32) {
    const float d = half(in), m = half(in + 2);
    uint32_t high;
    std::memcpy(&high, in + 4, 4);
    for (int i = 0; i < 16; ++i) {
      const int low_bit = static_cast<int>((high >> i) & 1u) << 4;
      const int high_bit = static_cast<int>((high >> (16 + i)) & 1u) << 4;
      out[i] = d * static_cast<float>((in[8 + i] & 15) | low_bit) + m;
      out[16 + i] = d * static_cast<float>((in[8 + i] >> 4) | high_bit) + m;
    }
  }
}

SLIPWAY_VECTORIZED void decode_q8_0(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 34, out += 32) {
    const float d = half(in);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<int8_t>(in[2 + i])) * d;
  }
}

}  // namespace slipway::gguf_blocks

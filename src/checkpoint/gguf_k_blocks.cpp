// Decoding of GGUF's "K" blocks: 256 elements in groups of 16 or 32 with scales of their own.
//
// As in gguf_blocks.cpp the order of the float32 operations is part of the result.
#include "checkpoint/gguf_blocks.h"
#include "checkpoint/gguf_quant.h"

namespace slipway::gguf_blocks {
namespace {

constexpr int kBlock = 256;

/// The 6-bit scales and minimums that Q4_K and Q5_K pack into 12 bytes: the first four of each lie
/// in the low bits of bytes 0..3 and 4..7, the last four in nibbles of bytes 8..11 with their upper
/// two bits on top of bytes 0..7.
struct ScalesAndMins {
  float scale[8], min[8];

  ScalesAndMins(const uint8_t* in, float d, float dmin) {
    for (int i = 0; i < 4; ++i) {
      scale[i] = d * static_cast<float>(in[i] & 63);
      min[i] = dmin * static_cast<float>(in[4 + i] & 63);
      scale[4 + i] = d * static_cast<float>((in[8 + i] & 15) | ((in[i] >> 2) & 48));
      min[4 + i] = dmin * static_cast<float>((in[8 + i] >> 4) | ((in[4 + i] >> 2) & 48));
    }
  }
};

}  // namespace

// scale * q - min; a byte of scales has the scale below and the minimum above.
SLIPWAY_VECTORIZED void decode_q2_k(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 84) {
    const float d = half(in + 80), dmin = half(in + 82);
    for (int group = 0; group < kBlock / 16; ++group, out += 16) {
      const float scale = d * static_cast<float>(in[group] & 15);
      const float min = dmin * static_cast<float>(in[group] >> 4);
      const uint8_t* q = in + 16 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) out[i] = scale * static_cast<float>((q[i] >> shift) & 3) - min;
    }
  }
}

// scale * (q - 4 where the mask bit is clear); scales are 6 bits with an offset of 32.
SLIPWAY_VECTORIZED void decode_q3_k(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 110) {
    const float d = half(in + 108);
    const uint8_t* packed = in + 96;
    for (int group = 0; group < kBlock / 16; ++group, out += 16) {
      const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
      const int high = (packed[8 + group % 4] >> (group / 4 * 2)) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      const uint8_t* mask = in + group % 2 * 16;
      const uint8_t* q = in + 32 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2, bit = group / 2;
      for (int i = 0; i < 16; ++i) {
        const int borrow = (~(mask[i] >> bit) & 1) << 2;
        out[i] = scale * static_cast<float>(((q[i] >> shift) & 3) - borrow);
      }
    }
  }
}

// scale * q - min
SLIPWAY_VECTORIZED void decode_q4_k(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 144) {
    const ScalesAndMins s(in + 4, half(in), half(in + 2));
    for (int group = 0; group < kBlock / 32; ++group, out += 32) {
      const float scale = s.scale[group], min = s.min[group];
      const uint8_t* q = in + 16 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>((q[i] >> shift) & 15) - min;
    }
  }
}

// scale * q - min; the fifth bits of a group are one bit of each of 32 bytes.
SLIPWAY_VECTORIZED void decode_q5_k(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 176) {
    const ScalesAndMins s(in + 4, half(in), half(in + 2));
    const uint8_t* high = in + 16;
    for (int group = 0; group < kBlock / 32; ++group, out += 32) {
      const float scale = s.scale[group], min = s.min[group];
      const uint8_t* q = in + 48 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int fifth = ((high[i] >> group) & 1) << 4;
        out[i] = scale * static_cast<float>(((q[i] >> shift) & 15) | fifth) - min;
      }
    }
  }
}

// scale * (q - 32): four low bits in one plane, two high bits in another.
SLIPWAY_VECTORIZED void decode_q6_k(const std::byte* blocks, int64_t count, float* out) {
  const uint8_t* in = bytes(blocks);
  for (int64_t b = 0; b < count; ++b, in += 210) {
    const float d = half(in + 208);
    for (int group = 0; group < kBlock / 16; ++group, out += 16) {
      const float scale = d * static_cast<float>(static_cast<int8_t>(in[192 + group]));
      const int side = group / 8, row = group % 8 / 2, column = group % 2 * 16;
      const uint8_t* low = in + side * 64 + row % 2 * 32 + column;
      const uint8_t* high = in + 128 + side * 32 + column;
      const int low_shift = row / 2 * 4, high_shift = row * 2;
      for (int i = 0; i < 16; ++i) {
        const int q = ((low[i] >> low_shift) & 15) | ((high[i] >> high_shift) & 3) << 4;
        out[i] = scale * static_cast<float>(q - 32);
      }
    }
  }
}

}  // namespace slipway::gguf_blocks

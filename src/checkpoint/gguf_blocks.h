// What the block decoders share: loads, and how their loops are compiled.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/floats.h"

// GCC vectorizes loops of unknown benefit only from -O3 on. Neither compiler may contract a
// product and a sum into a fused multiply-add in these files.
#if defined(__clang__)
#pragma clang fp contract(off)
#define SLIPWAY_VECTORIZED
#else
#define SLIPWAY_VECTORIZED __attribute__((optimize("O3", "fp-contract=off")))
#endif

namespace slipway::gguf_blocks {

inline const uint8_t* bytes(const std::byte* p) { return reinterpret_cast<const uint8_t*>(p); }

inline float half(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return f16_to_float(bits);
}

}  // namespace slipway::gguf_blocks

// The tensor structs of DLPack 1.x (the parts that cross the plug-in boundary) and our dtypes in
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "slipway/dtype.h"

namespace slipway::abi {

// Layouts and codes are those of the DLPack specification, so that a pointer to one of these is a
// pointer to the struct of the same name in any library that speaks DLPack.

enum : int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 };

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

enum : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8E4M3Fn = 10,
  kDLFloat8E5M2 = 12,
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

/// A tensor that is not owned. `strides` (in elements) may be null for row-major memory.
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

/// A tensor that is handed over: the receiver calls deleter(self) once, from any thread.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

static_assert(sizeof(DLDataType) == 4 && sizeof(DLDevice) == 8);
static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64, "DLPack's 64-bit layout");

inline DLDataType to_dlpack(DType dtype) {
  const auto bits = [](int n) { return static_cast<uint8_t>(n); };
  switch (dtype) {
    case DType::kF64:
      return {kDLFloat, bits(64), 1};
    case DType::kF32:
      return {kDLFloat, bits(32), 1};
    case DType::kF16:
      return {kDLFloat, bits(16), 1};
    case DType::kBF16:
      return {kDLBfloat, bits(16), 1};
    case DType::kF8E4M3:
      return {kDLFloat8E4M3Fn, bits(8), 1};
    case DType::kF8E5M2:
      return {kDLFloat8E5M2, bits(8), 1};
    case DType::kI64:
      return {kDLInt, bits(64), 1};
    case DType::kI32:
      return {kDLInt, bits(32), 1};
    case DType::kI16:
      return {kDLInt, bits(16), 1};
    case DType::kI8:
      return {kDLInt, bits(8), 1};
    case DType::kU64:
      return {kDLUInt, bits(64), 1};
    case DType::kU32:
      return {kDLUInt, bits(32), 1};
    case DType::kU16:
      return {kDLUInt, bits(16), 1};
    case DType::kU8:
      return {kDLUInt, bits(8), 1};
    case DType::kBool:
      return {kDLBool, bits(8), 1};
  }
  return {};
}

/// Nothing for types that Slipway has no name for.
inline std::optional<DType> from_dlpack(DLDataType dtype) {
  constexpr DType kAll[] = {DType::kF64,    DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3,
                            DType::kF8E5M2, DType::kI64, DType::kI32, DType::kI16,  DType::kI8,
                            DType::kU64,    DType::kU32, DType::kU16, DType::kU8,   DType::kBool};
  for (const DType candidate : kAll) {
    const DLDataType d = to_dlpack(candidate);
    if (d.code == dtype.code && d.bits == dtype.bits && dtype.lanes == 1) return candidate;
  }
  return std::nullopt;
}

}  // namespace slipway::abi

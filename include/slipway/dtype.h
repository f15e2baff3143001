// Element types of tensors: their sizes and their spellings in each ecosystem.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway {

/// An element type. The values are stable: they cross the C ABI of the runtime plug-ins.
enum class DType : uint8_t {
  kF64 = 0,
  kF32 = 1,
  kF16 = 2,     ///< IEEE 754 binary16
  kBF16 = 3,    ///< the upper half of a binary32
  kF8E4M3 = 4,  ///< OCP FP8 E4M3, finite only ("e4m3fn")
  kF8E5M2 = 5,  ///< OCP FP8 E5M2
  kI64 = 6,
  kI32 = 7,
  kI16 = 8,
  kI8 = 9,
  kU64 = 10,
  kU32 = 11,
  kU16 = 12,
  kU8 = 13,
  kBool = 14,  ///< one byte, 0 or 1
};

/// Bytes of one element.
int64_t itemsize(DType dtype);

/// The short name used in graph text: "f32", "bf16", "f8e4m3", "i64", "bool".
std::string_view short_name(DType dtype);
/// The name that safetensors writes: "F32", "BF16", "F8_E4M3", "I64", "BOOL".
std::string_view safetensors_name(DType dtype);
/// The name that PyTorch and export.json write: "float32", "bfloat16", "int64", "bool".
std::string_view torch_name(DType dtype);

std::optional<DType> dtype_from_short_name(std::string_view name);
std::optional<DType> dtype_from_safetensors_name(std::string_view name);
/// Also accepts the aliases "float", "half", "double", "long", "int", and a "torch." prefix.
std::optional<DType> dtype_from_torch_name(std::string_view name);

bool is_floating(DType dtype);
/// Signed or unsigned integers; not bool.
bool is_integral(DType dtype);

}  // namespace slipway

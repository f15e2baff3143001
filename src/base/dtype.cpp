// The table of element types.
#include "slipway/dtype.h"

#include <array>

#include "slipway/error.h"

namespace slipway {
namespace {

struct Row {
  DType dtype;
  int64_t size;
  std::string_view short_name, safetensors, torch;
};

constexpr std::array<Row, 15> kRows = {{
    {DType::kF64, 8, "f64", "F64", "float64"},
    {DType::kF32, 4, "f32", "F32", "float32"},
    {DType::kF16, 2, "f16", "F16", "float16"},
    {DType::kBF16, 2, "bf16", "BF16", "bfloat16"},
    {DType::kF8E4M3, 1, "f8e4m3", "F8_E4M3", "float8_e4m3fn"},
    {DType::kF8E5M2, 1, "f8e5m2", "F8_E5M2", "float8_e5m2"},
    {DType::kI64, 8, "i64", "I64", "int64"},
    {DType::kI32, 4, "i32", "I32", "int32"},
    {DType::kI16, 2, "i16", "I16", "int16"},
    {DType::kI8, 1, "i8", "I8", "int8"},
    {DType::kU64, 8, "u64", "U64", "uint64"},
    {DType::kU32, 4, "u32", "U32", "uint32"},
    {DType::kU16, 2, "u16", "U16", "uint16"},
    {DType::kU8, 1, "u8", "U8", "uint8"},
    {DType::kBool, 1, "bool", "BOOL", "bool"},
}};

const Row& row(DType dtype) {
  SLIPWAY_ASSERT(static_cast<size_t>(dtype) < kRows.size());
  return kRows[static_cast<size_t>(dtype)];
}

std::optional<DType> find(std::string_view name, std::string_view Row::*column) {
  for (const Row& r : kRows)
    if (r.*column == name) return r.dtype;
  return std::nullopt;
}

}  // namespace

int64_t itemsize(DType dtype) { return row(dtype).size; }
std::string_view short_name(DType dtype) { return row(dtype).short_name; }
std::string_view safetensors_name(DType dtype) { return row(dtype).safetensors; }
std::string_view torch_name(DType dtype) { return row(dtype).torch; }

std::optional<DType> dtype_from_short_name(std::string_view name) {
  return find(name, &Row::short_name);
}
std::optional<DType> dtype_from_safetensors_name(std::string_view name) {
  return find(name, &Row::safetensors);
}
std::optional<DType> dtype_from_torch_name(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  if (name == "float") return DType::kF32;
  if (name == "half") return DType::kF16;
  if (name == "double") return DType::kF64;
  if (name == "long") return DType::kI64;
  if (name == "int") return DType::kI32;
  return find(name, &Row::torch);
}

bool is_floating(DType dtype) { return dtype <= DType::kF8E5M2; }
bool is_integral(DType dtype) { return dtype >= DType::kI64 && dtype <= DType::kU8; }

}  // namespace slipway

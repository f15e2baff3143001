// torch's serialized enumerations and our dtypes as c10's.
#include "backends/dynamo/runner/enums.h"

#include <fmt/format.h>

#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;
using c10::ScalarType;

struct SerializedType {
  int64_t serialized;
  ScalarType type;
};

constexpr SerializedType kSerializedTypes[] = {
    {1, ScalarType::Byte},
    {2, ScalarType::Char},
    {3, ScalarType::Short},
    {4, ScalarType::Int},
    {5, ScalarType::Long},
    {6, ScalarType::Half},
    {7, ScalarType::Float},
    {8, ScalarType::Double},
    {9, ScalarType::ComplexHalf},
    {10, ScalarType::ComplexFloat},
    {11, ScalarType::ComplexDouble},
    {12, ScalarType::Bool},
    {13, ScalarType::BFloat16},
    {28, ScalarType::UInt16},
    {29, ScalarType::Float8_e4m3fn},
    {30, ScalarType::Float8_e5m2},
    {31, ScalarType::Float8_e4m3fnuz},
    {32, ScalarType::Float8_e5m2fnuz},
    {33, ScalarType::Float8_e8m0fnu},
    {34, ScalarType::UInt32},
    {35, ScalarType::UInt64},
};

struct OwnType {
  DType dtype;
  ScalarType type;
};

constexpr OwnType kOwnTypes[] = {
    {DType::kF64, ScalarType::Double},
    {DType::kF32, ScalarType::Float},
    {DType::kF16, ScalarType::Half},
    {DType::kBF16, ScalarType::BFloat16},
    {DType::kF8E4M3, ScalarType::Float8_e4m3fn},
    {DType::kF8E5M2, ScalarType::Float8_e5m2},
    {DType::kI64, ScalarType::Long},
    {DType::kI32, ScalarType::Int},
    {DType::kI16, ScalarType::Short},
    {DType::kI8, ScalarType::Char},
    {DType::kU64, ScalarType::UInt64},
    {DType::kU32, ScalarType::UInt32},
    {DType::kU16, ScalarType::UInt16},
    {DType::kU8, ScalarType::Byte},
    {DType::kBool, ScalarType::Bool},
};

[[noreturn]] void unknown(const char* what, int64_t value) {
  throw Error(kInvalid, fmt::format("[pt2] {} is not a serialized {}", value, what));
}

}  // namespace

ScalarType scalar_type(schema::ScalarType serialized) {
  for (const SerializedType& row : kSerializedTypes)
    if (row.serialized == serialized.value) return row.type;
  unknown("ScalarType", serialized.value);
}

c10::MemoryFormat memory_format(schema::MemoryFormat serialized) {
  switch (serialized.value) {
    case 1:
      return c10::MemoryFormat::Contiguous;
    case 2:
      return c10::MemoryFormat::ChannelsLast;
    case 3:
      return c10::MemoryFormat::ChannelsLast3d;
    case 4:
      return c10::MemoryFormat::Preserve;
    default:
      unknown("MemoryFormat", serialized.value);
  }
}

c10::Layout layout(schema::Layout serialized) {
  constexpr c10::Layout kLayouts[] = {c10::Layout::Sparse,    c10::Layout::SparseCsr,
                                      c10::Layout::SparseCsc, c10::Layout::SparseBsr,
                                      c10::Layout::SparseBsc, c10::Layout::Mkldnn,
                                      c10::Layout::Strided};
  if (serialized.value < 1 || serialized.value > 7) unknown("Layout", serialized.value);
  return kLayouts[serialized.value - 1];
}

ScalarType scalar_type(DType dtype) {
  for (const OwnType& row : kOwnTypes)
    if (row.dtype == dtype) return row.type;
  throw Error(kInternal, "[dynamo] a dtype without a ScalarType");
}

DType dtype_of(ScalarType type, std::string_view what) {
  for (const OwnType& row : kOwnTypes)
    if (row.type == type) return row.dtype;
  throw Error(kUnsupported, fmt::format("[dynamo] {} has the type {}, need numbers of at least 8 "
                                        "bits or booleans",
                                        what, c10::toString(type)));
}

}  // namespace slipway::dynamo_runner

// Writes a serialized program as the JSON text that torch writes; and torch's numbers of dtypes.
#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "backends/dynamo/schema.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::dynamo::schema {
namespace {

struct TypeRow {
  int64_t number;
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr TypeRow kTypes[] = {
    {1, "Byte", DType::kU8},
    {2, "Char", DType::kI8},
    {3, "Short", DType::kI16},
    {4, "Int", DType::kI32},
    {5, "Long", DType::kI64},
    {6, "Half", DType::kF16},
    {7, "Float", DType::kF32},
    {8, "Double", DType::kF64},
    {9, "ComplexHalf", std::nullopt},
    {10, "ComplexFloat", std::nullopt},
    {11, "ComplexDouble", std::nullopt},
    {12, "Bool", DType::kBool},
    {13, "BFloat16", DType::kBF16},
    {28, "UInt16", DType::kU16},
    {29, "Float8_e4m3fn", DType::kF8E4M3},
    {30, "Float8_e5m2", DType::kF8E5M2},
    {31, "Float8_e4m3fnuz", std::nullopt},
    {32, "Float8_e5m2fnuz", std::nullopt},
    {33, "Float8_e8m0fnu", std::nullopt},
    {34, "UInt32", DType::kU32},
    {35, "UInt64", DType::kU64},
};

template <class T>
concept Struct = requires(T t, int& io) {
  &T::template io<int>;
};
template <class T>
concept Union = requires {
  T::kTags;
};

Json write(int64_t value) { return value; }
Json write(bool value) { return value; }
Json write(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return value;
}
Json write(const std::string& value) { return value; }
Json write(const None&) { return true; }
Json write(const ScalarType& value) { return value.value; }
Json write(const MemoryFormat& value) { return value.value; }
Json write(const Layout& value) { return value.value; }
Json write(const Name& value) { return value.value; }
Json write(const Operator& value) { return value.value; }
template <class T>
Json write(const std::vector<T>& value);
template <class T>
Json write(const OrderedMap<T>& value);
template <class T>
Json write(const std::optional<T>& value);
Json write(const std::shared_ptr<Graph>& value);
template <Union T>
Json write(const T& value);
template <Struct T>
Json write(const T& value);

struct Fields {
  Json& json;
  template <class T>
  void operator()(const char* key, const T& field) {
    json[key] = write(field);
  }
  template <class T>
  void or_default(const char* key, const T& field) {
    json[key] = write(field);
  }
};

template <class T>
Json write(const std::vector<T>& value) {
  Json json = Json::array();
  for (const T& item : value) json.push_back(write(item));
  return json;
}
template <class T>
Json write(const OrderedMap<T>& value) {
  Json json = Json::object();
  for (const auto& [key, item] : value)
    json.get_ref<Json::object_t&>().emplace_back(key, write(item));
  return json;
}
template <class T>
Json write(const std::optional<T>& value) {
  return value ? write(*value) : Json();
}
Json write(const std::shared_ptr<Graph>& value) {
  SLIPWAY_ASSERT(value != nullptr);
  return write(*value);
}
template <Union T>
Json write(const T& value) {
  Json json = Json::object();
  json[T::kTags[value.value.index()]] =
      std::visit([](const auto& item) { return write(item); }, value.value);
  return json;
}
template <Struct T>
Json write(const T& value) {
  Json json = Json::object();
  Fields fields{json};
  const_cast<T&>(value).io(fields);  // io() serves the reader too; nothing is changed here
  return json;
}

}  // namespace

std::optional<DType> to_dtype(ScalarType type) {
  for (const TypeRow& row : kTypes)
    if (row.number == type.value) return row.dtype;
  return std::nullopt;
}

std::string to_string(ScalarType type) {
  for (const TypeRow& row : kTypes)
    if (row.number == type.value) return std::string(row.name);
  return fmt::format("dtype number {}", type.value);
}

ScalarType to_scalar_type(DType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return {row.number};
  throw Error(kUnsupported, fmt::format("[pt2] torch has no dtype {}", short_name(dtype)));
}

std::string write_program(const ExportedProgram& program) { return python_json(write(program)); }
std::string write_payloads(const PayloadConfig& payloads) { return python_json(write(payloads)); }

}  // namespace slipway::dynamo::schema

// Values, types and arguments of torch's serialized ExportedProgram, schema 8.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "slipway/dtype.h"

// As in torch/_export/serde/schema.py. Each struct lists its JSON fields once, in io(), for reading
// and writing alike; a union lists the tags of its alternatives. Maps keep the file's order.
// `Io` is called with (key, field): a std::optional may be absent or null, `io.or_default` fields
// may be absent.

namespace slipway::dynamo::schema {

template <class T>
using OrderedMap = std::vector<std::pair<std::string, T>>;

/// A number of one of torch's serialized enumerations; not those of c10.
struct ScalarType {
  int64_t value = 0;
};
struct MemoryFormat {
  int64_t value = 0;
};
struct Layout {
  int64_t value = 0;
};
inline constexpr int64_t kStrided = 7;  ///< a Layout
inline constexpr int64_t kBool = 12;    ///< a ScalarType
inline constexpr int64_t kLong = 5;

/// Nullopt for types that we do not have, the complex ones among them.
std::optional<DType> to_dtype(ScalarType type);
/// "Float", "ComplexFloat", or its number.
std::string to_string(ScalarType type);
ScalarType to_scalar_type(DType dtype);

struct Device {
  std::string type = "cpu";
  std::optional<int64_t> index;
  void io(auto& io) {
    io("type", type);
    io("index", index);
  }
};

struct SymExprHint {
  std::variant<int64_t, bool, double> value;
  static constexpr const char* kTags[] = {"as_int", "as_bool", "as_float"};
};

/// A sympy expression: as repr ("Mul(Integer(2), Symbol('s0', ...))") from torch 2.6 on, as str
/// ("2*s0") before.
struct SymExpr {
  std::string expr_str;
  std::optional<SymExprHint> hint;
  void io(auto& io) {
    io("expr_str", expr_str);
    io("hint", hint);
  }
};
struct SymInt {
  std::variant<SymExpr, int64_t> value = int64_t{0};
  static constexpr const char* kTags[] = {"as_expr", "as_int"};
};
struct SymFloat {
  std::variant<SymExpr, double> value = 0.0;
  static constexpr const char* kTags[] = {"as_expr", "as_float"};
};
struct SymBool {
  std::variant<SymExpr, bool> value = false;
  static constexpr const char* kTags[] = {"as_expr", "as_bool"};
};

struct TensorMeta {
  ScalarType dtype;
  std::vector<SymInt> sizes;
  bool requires_grad = false;
  Device device;
  std::vector<SymInt> strides;
  SymInt storage_offset;
  Layout layout{kStrided};
  void io(auto& io) {
    io("dtype", dtype);
    io("sizes", sizes);
    io("requires_grad", requires_grad);
    io("device", device);
    io("strides", strides);
    io("storage_offset", storage_offset);
    io("layout", layout);
  }
};

/// The name of a value of the graph that stands for a number.
struct Name {
  std::string value;
};
struct SymIntArgument {
  std::variant<Name, int64_t> value = int64_t{0};
  static constexpr const char* kTags[] = {"as_name", "as_int"};
};
struct SymFloatArgument {
  std::variant<Name, double> value = 0.0;
  static constexpr const char* kTags[] = {"as_name", "as_float"};
};
struct SymBoolArgument {
  std::variant<Name, bool> value = false;
  static constexpr const char* kTags[] = {"as_name", "as_bool"};
};
struct TensorArgument {
  std::string name;
  void io(auto& io) { io("name", name); }
};
/// Written as true.
struct None {};
struct OptionalTensorArgument {
  std::variant<TensorArgument, None> value = None{};
  static constexpr const char* kTags[] = {"as_tensor", "as_none"};
};
struct CustomObjArgument {
  std::string name, class_fqn;
  void io(auto& io) {
    io("name", name);
    io("class_fqn", class_fqn);
  }
};
struct ComplexValue {
  double real = 0, imag = 0;
  void io(auto& io) {
    io("real", real);
    io("imag", imag);
  }
};
struct Operator {
  std::string value;
};

struct Graph;
struct Argument;
struct GraphArgument {
  std::string name;
  std::shared_ptr<Graph> graph;
  void io(auto& io) {
    io("name", name);
    io("graph", graph);
  }
};

struct Argument {
  using Value =
      std::variant<None, TensorArgument, std::vector<TensorArgument>, int64_t, std::vector<int64_t>,
                   double, std::vector<double>, std::string, std::vector<std::string>,
                   SymIntArgument, std::vector<SymIntArgument>, ScalarType, MemoryFormat, Layout,
                   Device, bool, std::vector<bool>, SymBoolArgument, std::vector<SymBoolArgument>,
                   GraphArgument, std::vector<OptionalTensorArgument>, CustomObjArgument, Operator,
                   SymFloatArgument, std::vector<SymFloatArgument>, OptionalTensorArgument,
                   ComplexValue, std::vector<std::vector<TensorArgument>>,
                   std::vector<std::vector<int64_t>>, std::vector<std::pair<std::string, Argument>>,
                   std::vector<std::vector<double>>>;
  Value value = None{};
  static constexpr const char* kTags[] = {"as_none",
                                          "as_tensor",
                                          "as_tensors",
                                          "as_int",
                                          "as_ints",
                                          "as_float",
                                          "as_floats",
                                          "as_string",
                                          "as_strings",
                                          "as_sym_int",
                                          "as_sym_ints",
                                          "as_scalar_type",
                                          "as_memory_format",
                                          "as_layout",
                                          "as_device",
                                          "as_bool",
                                          "as_bools",
                                          "as_sym_bool",
                                          "as_sym_bools",
                                          "as_graph",
                                          "as_optional_tensors",
                                          "as_custom_obj",
                                          "as_operator",
                                          "as_sym_float",
                                          "as_sym_floats",
                                          "as_optional_tensor",
                                          "as_complex",
                                          "as_nested_tensors",
                                          "as_int_lists",
                                          "as_string_to_argument",
                                          "as_float_lists"};

  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  /// The tag of what it holds: "as_tensor".
  const char* tag() const { return kTags[value.index()]; }
};

}  // namespace slipway::dynamo::schema

// Operator arguments: values of the graph, numbers, sizes, words.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/sym.h"
#include "slipway/dtype.h"

namespace slipway {

class Graph;
struct Node;

/// The static type of a tensor in a graph.
struct ValueType {
  DType dtype = DType::kF32;
  SymShape shape;
  bool operator==(const ValueType&) const = default;
};

/// "f32[batch_size, 64]".
std::string to_string(const ValueType& type);

/// A handle to one output of a node. Valid while its Graph lives. A default-made one is undefined.
class Value {
 public:
  Value() = default;
  Value(Node* node, int index) : node_(node), index_(index) {}

  bool defined() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  int index() const { return index_; }
  Graph& graph() const;

  const ValueType& type() const;
  DType dtype() const { return type().dtype; }
  const SymShape& shape() const { return type().shape; }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  /// The size of dimension i; negative i counts from the end.
  Sym dim(int64_t i) const;
  bool is_floating() const { return slipway::is_floating(dtype()); }

  friend bool operator==(Value a, Value b) { return a.node_ == b.node_ && a.index_ == b.index_; }
  friend bool operator<(Value a, Value b);

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

/// One argument of a node; monostate is None. Integers are symbolic everywhere.
using Arg = std::variant<std::monostate, Value, std::vector<Value>, bool, Sym, std::vector<Sym>,
                         double, std::vector<double>, std::string, DType>;

/// An argument as the caller of Graph::emit writes it: by position or by name.
struct OpArg {
  std::string name;  ///< empty: by position
  Arg value;

  OpArg(Arg v) : value(std::move(v)) {}  // NOLINT: these conversions are the notation of emit()
  OpArg(Value v) : value(v.defined() ? Arg(v) : Arg()) {}  // NOLINT: undefined is None
  OpArg(std::vector<Value> v) : value(std::move(v)) {}     // NOLINT
  OpArg(Sym v) : value(v) {}                               // NOLINT
  OpArg(int v) : value(Sym(v)) {}                          // NOLINT
  OpArg(int64_t v) : value(Sym(v)) {}                      // NOLINT
  OpArg(double v) : value(v) {}                            // NOLINT
  OpArg(bool v) : value(v) {}                              // NOLINT
  OpArg(DType v) : value(v) {}                             // NOLINT
  OpArg(const char* v) : value(std::string(v)) {}          // NOLINT
  OpArg(std::string v) : value(std::move(v)) {}            // NOLINT
  OpArg(std::vector<Sym> v) : value(std::move(v)) {}       // NOLINT
  OpArg(std::vector<double> v) : value(std::move(v)) {}    // NOLINT
};

/// A keyword argument: `named("axis", -1)`.
inline OpArg named(std::string name, OpArg arg) {
  arg.name = std::move(name);
  return arg;
}

inline OpArg none() { return Arg(); }

}  // namespace slipway

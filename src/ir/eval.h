// Evaluates graphs in plain C++: the oracle of text tests. Small and slow; not a runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace slipway {

/// A tensor whose elements are held as doubles, rounded to the dtype after every op. int64 values
/// beyond 2^53 are not representable and are refused.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<double> values;

  static Array from_tensor(const Tensor& tensor);
  Tensor to_tensor() const;
  /// Rounds every value to what the dtype can hold.
  void round();
};

/// The arguments of one node with its tensors' values and its symbols' numbers.
class EvalArgs {
 public:
  EvalArgs(const Node& node, const std::map<std::pair<const Node*, int>, Array>& values,
           const std::map<std::string, int64_t>& dims)
      : node_(node), values_(values), dims_(dims) {}

  const Node& node() const { return node_; }
  Args args() const { return node_.arguments(); }
  bool has(size_t i) const { return args().has(i); }
  const Array& array(size_t i) const;
  /// Null where an item is None.
  std::vector<const Array*> arrays(size_t i) const;
  /// A symbolic integer argument's number.
  int64_t integer(size_t i) const;
  std::vector<int64_t> integers(size_t i) const;
  /// A number, or a one-element view of a tensor argument is an error.
  double number(size_t i) const;
  /// dtype and shape of output i, symbols replaced.
  DType out_dtype(size_t i = 0) const { return node_.types[i].dtype; }
  Shape out_shape(size_t i = 0) const;

 private:
  const Node& node_;
  const std::map<std::pair<const Node*, int>, Array>& values_;
  const std::map<std::string, int64_t>& dims_;
};

/// Runs the graph on `inputs` (user inputs by name; weights without data too). Ops that have no
/// eval are run through their body. Symbols get their values from `dims` and from the inputs'
/// shapes (where one is a size by itself). Returns the outputs by name. Throws Error{kInvalid} for
/// inputs that do not fit, Error{kUnsupported} for an op that has neither eval nor body.
std::map<std::string, Tensor> evaluate(const Graph& graph,
                                       const std::map<std::string, Tensor>& inputs,
                                       const std::map<std::string, int64_t>& dims = {});

}  // namespace slipway

// From kernels to nodes of XNNPACK, one at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/executorch/xnnpack_graph.h"
#include "ir/graph.h"

namespace slipway::executorch {

/// Rows of equal weights, by length and dtype: what delegates of a program share.
using EqualWeights = std::map<std::pair<int64_t, DType>, Lazy>;

/// Builds the delegate's graph of some nodes. `shared` outlives it.
class XnnpackBuilder {
 public:
  explicit XnnpackBuilder(EqualWeights& shared) : shared_(shared) {}

  /// Defines the nodes of one op. Returns why it cannot; "" when it did. Nodes come in order:
  /// operands that earlier calls did not define are static data or inputs.
  std::string define(const Node& node);

  /// Values read from outside, in the order of the graph's inputs.
  const std::vector<Value>& inputs() const { return inputs_; }
  /// Makes this value, which has been defined, the next output of the graph.
  void add_output(Value value);
  xnnpack::Graph take() { return std::move(graph_); }

  /// For the rows of ops.
  xnnpack::ValueId operand(Value value);
  /// [1, length], each 1 / length.
  xnnpack::ValueId equal_weights(int64_t length, DType dtype);
  /// Static data in another layout than the graph's.
  xnnpack::ValueId stored(const ValueType& type, Lazy data);
  /// A quantized value: static data, or one between the nodes of one op.
  xnnpack::ValueId quantized(xnnpack::Value value);
  /// The value that a node's output becomes.
  xnnpack::ValueId result(Value value);
  /// A value between the nodes of one op.
  xnnpack::ValueId inner(const ValueType& type);
  void add(xnnpack::Node node) { graph_.nodes.push_back(std::move(node)); }

 private:
  xnnpack::ValueId define_static(Value value);

  EqualWeights& shared_;
  xnnpack::Graph graph_;
  std::map<Value, xnnpack::ValueId> ids_;
  std::vector<Value> inputs_;
};

/// Why XNNPACK cannot compute a node, by a dry run; "" when it can.
std::string refused_by_xnnpack(const Node& node);

/// Multiplications of a node, with sizes at their upper bounds: of products, else 0.
int64_t multiplications(const Node& node);

/// True where memory is only moved or seen otherwise: reshapes, transposes, slices, joins.
bool moves_only(const Node& node);

}  // namespace slipway::executorch

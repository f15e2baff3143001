// The graph: inputs, weights, constants and op nodes in static single assignment form.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"
#include "ir/op.h"

namespace slipway {

enum class NodeKind : uint8_t { kInput, kWeight, kConstant, kOp };

/// A node of a graph. Made and owned by its Graph only.
struct Node {
  Graph* graph = nullptr;
  int64_t id = 0;  ///< order of making; never printed
  NodeKind kind = NodeKind::kOp;
  const Op* op = nullptr;        ///< of an op node
  std::vector<Arg> args;         ///< of an op node: schema order, defaults filled
  std::vector<ValueType> types;  ///< one per output
  std::string name;              ///< of an input or a weight
  std::string scope;             ///< the module path that made the node: "model.layers.0.mlp"
  Lazy data;                     ///< of a weight or constant; null for a weight in a parsed text

  Value out(int i = 0) { return Value(this, i); }
  Args arguments() const { return Args(*op, args, graph); }
};

/// A named result of a graph.
struct Output {
  std::string name;
  Value value;
};

/// Whether emit() computes types. An untyped graph is a pattern (src/passes/pattern.h): its nodes
/// have no types, reading one is Error{kInternal}.
enum class Typing : uint8_t { kInferred, kUntyped };

class Graph {
 public:
  explicit Graph(Typing typing = Typing::kInferred) : typing_(typing) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Typing typing() const { return typing_; }

  /// A user input. Names are unique among inputs. An untyped graph ignores the type.
  Value add_input(const std::string& name, ValueType type);
  /// A weight under its checkpoint name. The same Lazy object always gives the same Value, so a
  /// tied weight is one value under the first name it was asked for.
  Value add_weight(const std::string& name, Lazy data);
  /// A weight of a parsed text: a type without data.
  Value add_weight(const std::string& name, ValueType type);
  /// A constant held in the graph.
  Value constant(Tensor tensor);
  /// A constant of a parsed text that gave no more than its digest: a type without data.
  Value constant(ValueType type, std::string digest);

  /// Adds a node and infers its types. Arguments by position, then by name; trailing defaults are
  /// filled in. Throws Error{kInvalid} when they do not fit the schema or each other.
  Value emit(std::string_view op, std::initializer_list<OpArg> args);
  Value emit(const Op& op, const std::vector<OpArg>& args);
  std::vector<Value> emit_all(const Op& op, const std::vector<OpArg>& args);
  /// Adds a node whose output types the caller knows: for target ops that take shapes as tensors,
  /// so that types cannot be inferred from the arguments.
  std::vector<Value> emit_as(const Op& op, const std::vector<OpArg>& args,
                             std::vector<ValueType> types);

  void add_output(std::string name, Value value);

  const std::vector<Node*>& inputs() const { return inputs_; }
  std::vector<Output>& outputs() { return outputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }

  /// Weights that the outputs depend on, in order of first use.
  std::vector<Node*> weights() const;
  /// Everything the outputs depend on - op nodes, constants, weights, inputs - operands first, left
  /// to right from the first output back: an order that does not depend on emission.
  std::vector<Node*> order() const;

  /// Makes every use of `from` use `to`.
  void replace_all_uses(Value from, Value to);
  /// Drops nodes that no output depends on. Inputs stay; handles to dropped nodes dangle.
  /// Returns how many went.
  int64_t drop_dead();
  /// Drops an input that nothing uses; asserts that.
  void erase_input(Node* input);

  /// The module path given to nodes emitted from now on.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

 private:
  Node* add_node(NodeKind kind);
  std::vector<Value> add_op(const Op& op, std::vector<Arg> args, std::vector<ValueType> types,
                            size_t num_outputs);

  Typing typing_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> inputs_;
  std::vector<Output> outputs_;
  std::map<const LazyTensor*, Node*> weight_of_;
  std::string scope_;
  int64_t next_id_ = 0;
};

/// Sets the graph's scope while it lives.
class ScopeGuard {
 public:
  ScopeGuard(Graph& graph, std::string scope) : graph_(graph), before_(graph.scope()) {
    graph.set_scope(std::move(scope));
  }
  ~ScopeGuard() { graph_.set_scope(std::move(before_)); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

/// The values a node reads, left to right.
std::vector<Value> operands(const Node& node);

}  // namespace slipway

// The values of a method in the making: tensors, numbers, sizes, arguments of kernels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/executorch/program.h"
#include "lowering/size_walk.h"

namespace slipway::executorch {

class MethodValues {
 public:
  explicit MethodValues(const std::string& name) : method_(name) {}

  Method& method() { return method_; }
  /// The number of a graph's value that has been added.
  ValueId of(Value value) const { return ids_.at(value); }

  /// Memory of its own for a value.
  ValueId add_tensor(Value value);
  /// A mutable buffer of an input's name, undefined at first.
  void add_buffer(Node& input);
  /// A weight or constant of the graph.
  void add_constant(Value value);
  /// A copy with memory of its own.
  ValueId copy(Value value);
  /// Sizes can be read from this value.
  void add_places(Value value) { places_.add(value); }

  /// The call of a node's kernel; its results get memory.
  void call(const Node& node);
  /// A kernel that writes to its first argument, which is its result.
  void call_in_place(const Node& node);
  /// A view_copy whose result may be another name for its operand's memory.
  bool can_view(const Node& node) const;
  void view(const Node& node);
  /// et::slice_last: the last elements of an axis, their number read from a tensor.
  void slice_last(const Node& node);

  /// The number of a size: a constant, or computed by the instructions so far. With the next two
  /// for lowering::compute_size().
  ValueId size(Sym s);
  ValueId read_size(const lowering::Place& place);
  ValueId combine_sizes(Sym s, ValueId a, ValueId b);

 private:
  ValueId argument(const SchemaArg& schema, const Arg& arg);
  std::vector<ValueId> arguments(const Node& node);
  ValueId ints(const std::vector<Sym>& items);
  ValueId prim(const char* op, const char* overload, std::vector<ValueId> args);
  void emit_call(const Node& node, std::vector<ValueId> args, const std::vector<ValueId>& outs);

  Method method_;
  std::map<Value, ValueId> ids_;
  std::map<std::string, ValueId> sizes_;
  std::map<std::vector<ValueId>, ValueId> int_lists_;
  std::map<const LazyTensor*, ValueId> stored_;
  lowering::Places places_;
};

}  // namespace slipway::executorch

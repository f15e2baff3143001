// One node being lowered: the notation for it that is the same in every target.
#pragma once

#include <string_view>
#include <vector>

#include "lowering/state.h"

namespace slipway::lowering {

/// The operands of a source node in the target graph, and what emits target ops. A back end's own
/// `Lower` derives from it and adds the notation of its target.
class NodeLowering {
 public:
  NodeLowering(State& state, Node& source) : common_(state), source_(source) {}
  virtual ~NodeLowering() = default;
  NodeLowering(const NodeLowering&) = delete;
  NodeLowering& operator=(const NodeLowering&) = delete;

  Args args() const { return source_.arguments(); }
  bool has(size_t i) const { return args().has(i); }

  /// The lowered operand of tensor argument i; undefined for None.
  Value in(size_t i) const;
  /// The lowered operand converted to a dtype.
  Value in(size_t i, DType dtype) { return cast(in(i), dtype); }
  /// The lowered tensors of list argument i; undefined where an item is None.
  std::vector<Value> ins(size_t i) const;

  /// Emits a target op whose types follow from its arguments.
  Value operator()(std::string_view op, std::initializer_list<OpArg> args);
  /// Emits a target op with a stated type.
  Value typed(std::string_view op, std::initializer_list<OpArg> args, ValueType type);
  /// The same for an op of several outputs.
  std::vector<Value> typed_all(std::string_view op, std::initializer_list<OpArg> args,
                               std::vector<ValueType> types);

  virtual Value cast(Value x, DType dtype) = 0;

  /// Constants; equal ones are one.
  Value scalar(double value, DType dtype) { return common_.scalar(value, dtype); }
  Value ints(const std::vector<int64_t>& values);
  Value floats(const std::vector<float>& values);

 protected:
  const Node& source() const { return source_; }

 private:
  State& common_;
  Node& source_;

  friend class TensorSizes;
};

/// The notation of targets that compute sizes as int64 tensors.
class TensorSizes : public NodeLowering {
 public:
  using NodeLowering::NodeLowering;

  /// Argument i as a tensor of the dtype: a tensor operand converted, or a number as a scalar.
  Value operand(size_t i, DType dtype);

  /// x with an axis of size 1 less.
  virtual Value squeeze(Value x, int64_t axis) = 0;
  virtual Value concat(const std::vector<Value>& parts, int64_t axis) = 0;

  /// A size as an int64 [1], from the inputs that have it.
  Value size(Sym s);
  /// Sizes as one int64 vector.
  Value sizes(const SymShape& shape);

  /// For compute_size().
  virtual Value read_size(const Place& place) = 0;
  virtual Value combine_sizes(Sym s, Value a, Value b) = 0;
};

/// What a Reshape in which 0 means "as in the input" and -1 "what is left" can be given.
struct ReshapeTarget {
  std::vector<int64_t> numbers;
  bool one_hole = true;    ///< `numbers` says it all
  bool ambiguous = false;  ///< with an empty tensor -1 has no meaning, and 0 another one
};
ReshapeTarget reshape_target(const SymShape& from, const SymShape& to);

}  // namespace slipway::lowering

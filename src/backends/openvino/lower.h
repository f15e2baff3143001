// Lowering: from ATen and composite ops to a graph of OpenVINO ops.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace slipway::openvino {

/// Where the leaves of caches that come back are.
enum class Caches {
  kInputsAndOutputs,
  kVariables,  ///< inside the graph, each row's by the input beam_idx
};

struct LowerOptions {
  Caches caches = Caches::kInputsAndOutputs;
};

struct LowerState;

/// The dtype that OpenVINO computes this one in: 16-bit floats are stored only, as the reference's
/// exporter has it; plug-ins choose a narrower precision themselves (FORMAT.md).
DType computed_as(DType dtype);

/// One source node being lowered: its operands already in the target graph, and the notation for
/// emitting target ops.
class Lower {
 public:
  Lower(LowerState& state, Node& source) : state_(state), source_(source) {}

  Args args() const { return source_.arguments(); }
  bool has(size_t i) const { return args().has(i); }

  /// The lowered operand of tensor argument i; undefined for None.
  Value in(size_t i);
  /// The lowered operand converted to a dtype.
  Value in(size_t i, DType dtype) { return cast(in(i), dtype); }
  /// The lowered tensors of list argument i; undefined where an item is None.
  std::vector<Value> ins(size_t i);
  /// Argument i as a tensor of the dtype: a tensor operand converted, or a number as a scalar.
  Value operand(size_t i, DType dtype);
  /// The type that the source node's output has in the target graph.
  ValueType out(size_t i = 0) const;

  /// Emits a target op whose types follow from its arguments.
  Value operator()(std::string_view op, std::initializer_list<OpArg> args);
  /// Emits a target op with a stated type.
  Value typed(std::string_view op, std::initializer_list<OpArg> args, ValueType type);
  /// The same for an op of several outputs.
  std::vector<Value> typed_all(std::string_view op, std::initializer_list<OpArg> args,
                               std::vector<ValueType> types);

  Value cast(Value x, DType dtype);
  /// x under another shape, with a constant target where 0 and -1 can say it.
  Value reshape(Value x, const SymShape& shape);
  /// x with an axis of size 1 more, or one less.
  Value unsqueeze(Value x, int64_t axis);
  Value squeeze(Value x, int64_t axis);
  /// x itself where no axis moves.
  Value permute(Value x, const std::vector<int64_t>& axes);
  /// x itself where it has the shape already.
  Value expand(Value x, const SymShape& shape);
  /// Elements [begin, end) of an axis.
  Value slice(Value x, int64_t axis, int64_t begin, int64_t end);
  /// The first elements along every axis: x itself where the shape is its own.
  Value corner(Value x, const SymShape& shape);
  /// Entries of an axis by number; a scalar takes the axis away.
  Value gather(Value x, Value indices, int64_t axis);
  Value concat(const std::vector<Value>& parts, int64_t axis);

  /// Constants; equal ones are one layer.
  Value scalar(double value, DType dtype);
  Value ints(const std::vector<int64_t>& values);
  Value floats(const std::vector<float>& values);
  /// A size as an int64 [1], from the inputs that have it.
  Value size(Sym s);
  /// Sizes as one int64 vector.
  Value sizes(const SymShape& shape);

  /// The contents of tensor argument i under another shape: of the stored weight where it is one.
  Value weight_as(size_t i, const Shape& shape);

 private:
  LowerState& state_;
  Node& source_;
};

/// One row: how an op becomes OpenVINO ops. Ops of several outputs have the second function.
struct LoweringRow {
  std::string_view op;
  Value (*lower)(Lower& l);
  std::vector<Value> (*lower_all)(Lower& l) = nullptr;
};

std::span<const LoweringRow> pointwise_rows();
std::span<const LoweringRow> shape_rows();
std::span<const LoweringRow> reduction_rows();
std::span<const LoweringRow> nn_rows();
std::span<const LoweringRow> rounding_rows();
std::span<const LoweringRow> index_rows();
std::span<const LoweringRow> window_rows();

/// The row of an op, or null. An op with a body and no row is expanded first.
const LoweringRow* find_lowering(std::string_view op);
/// Every row, for coverage.
std::vector<const LoweringRow*> all_lowerings();

/// The program as a graph of OpenVINO ops. Variables are outputs of it that are ov::Assign.
/// Error{kUnsupported} lists every op that has neither a row nor a body, with counts. Inputs that
/// nothing reads are dropped; `dropped` receives their names.
std::unique_ptr<Graph> lower(const ExportedProgram& program, const LowerOptions& options = {},
                             std::vector<std::string>* dropped = nullptr);

/// The rows of the `ov::` namespace; registered by lower().
std::span<const OpRow> openvino_ops();
/// The opset that an op of this namespace is written with: "opset13".
std::string_view opset_of(std::string_view op);

}  // namespace slipway::openvino

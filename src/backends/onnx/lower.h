// Lowering: from ATen and composite ops to a graph of ONNX ops.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "lowering/node_lowering.h"
#include "lowering/rows.h"

namespace slipway::onnx {

/// What the ONNX graph may use.
struct LowerOptions {
  int64_t opset_version = 20;  ///< 18 to 24
};

struct LowerState;

/// One source node being lowered to ONNX ops.
class Lower final : public lowering::TensorSizes {
 public:
  Lower(LowerState& state, Node& source);

  int64_t opset() const;

  /// The type that the source node's output has.
  const ValueType& out(size_t i = 0) const { return source().types[i]; }

  Value cast(Value x, DType dtype) override;
  /// x under another shape, with a constant target where 0 and -1 can say it.
  Value reshape(Value x, const SymShape& shape);
  /// x with an axis of size 1 more, or one less.
  Value unsqueeze(Value x, int64_t axis);
  Value squeeze(Value x, int64_t axis) override;
  /// x itself where no axis moves.
  Value permute(Value x, const std::vector<int64_t>& axes);
  /// x itself where it has the shape already.
  Value expand(Value x, const SymShape& shape);
  /// Elements of an axis from `start` to `end`, each an int64 [1].
  Value cut(Value x, int64_t axis, Value start, Value end, int64_t step, ValueType type);
  /// The first elements along every axis: x itself where the shape is its own.
  Value corner(Value x, const SymShape& shape);
  /// Entries of an axis by number; a scalar takes the axis away.
  Value gather(Value x, Value indices, int64_t axis);
  Value concat(const std::vector<Value>& parts, int64_t axis) override;

  /// A weight matrix transposed for the right side of a MatMul: stored so where only products use
  /// it, a Transpose node where something else reads the matrix too.
  Value transposed_weight(size_t i);

  /// Matrix `group` of tensor argument i [groups, rows, columns]: a part of the weight's own
  /// storage where only products by group read it, else gathered.
  Value group_matrix(size_t i, int64_t group);

  Value read_size(const lowering::Place& place) override;
  Value combine_sizes(Sym s, Value a, Value b) override;

 private:
  LowerState& state_;
};

using LoweringRow = lowering::Row<Lower>;

std::span<const LoweringRow> pointwise_rows();
std::span<const LoweringRow> shape_rows();
std::span<const LoweringRow> reduction_rows();
std::span<const LoweringRow> nn_rows();
std::span<const LoweringRow> rounding_rows();
std::span<const LoweringRow> index_rows();
std::span<const LoweringRow> window_rows();

/// The row of an op, or null. An op with a body and no row is expanded first.
const LoweringRow* find_lowering(std::string_view op);

/// The program as a graph of ONNX ops. Error{kUnsupported} lists every op that has neither a row
/// nor a body, with counts. Inputs that nothing reads are dropped; `dropped` receives their names.
std::unique_ptr<Graph> lower(const ExportedProgram& program, const LowerOptions& options,
                             std::vector<std::string>* dropped = nullptr);

/// The rows of the `onnx::` namespace; registered by lower().
std::span<const OpRow> onnx_ops();

}  // namespace slipway::onnx

// Lowering: from ATen and composite ops to a graph of ExecuTorch's kernels.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "lowering/node_lowering.h"
#include "lowering/rows.h"

namespace slipway::executorch {

struct LowerState;

/// One source node being lowered to kernels. Sizes stay expressions: emit() computes them.
class Lower final : public lowering::NodeLowering {
 public:
  Lower(LowerState& state, Node& source);

  /// The type that the source node's output has.
  const ValueType& out(size_t i = 0) const { return source().types[i]; }

  using NodeLowering::in;
  /// Argument i as a tensor of the dtype: a tensor operand converted, or a number as a scalar.
  Value operand(size_t i, DType dtype);

  Value cast(Value x, DType dtype) override;
  /// x under another shape: of the stored weight where it is one.
  Value reshape(Value x, const SymShape& shape);
  /// x with an axis of size 1 more, or one less.
  Value unsqueeze(Value x, int64_t axis);
  Value squeeze(Value x, int64_t axis);
  /// x itself where no axis moves.
  Value permute(Value x, const std::vector<int64_t>& axes);
  /// x itself where it has the shape already.
  Value expand(Value x, const SymShape& shape);
  /// Elements [start, end) of an axis; x itself where these are all.
  Value slice(Value x, int64_t axis, Sym start, Sym end, int64_t step, const ValueType& type);
  /// The first elements along every axis: x itself where the shape is its own.
  Value corner(Value x, const SymShape& shape);
  /// Entries of an axis by number; a scalar takes the axis away.
  Value gather(Value x, Value indices, int64_t axis);
  Value concat(const std::vector<Value>& parts, int64_t axis);
  /// Matrix `index` of stored matrices, turned around or not: a part of the weight's own storage.
  /// Undefined where x is something else.
  Value entry(Value x, int64_t index);
  /// A product of matrices, batched over the axes before the last two.
  Value matmul(Value a, Value b);
  /// The same with b [..., columns, inner], both of one rank of at least 3.
  Value matmul_transposed(Value a, Value b);

 private:
  Value turned(Value matrix);

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

/// The program as a graph of kernels and of et::matmul: partition() or expand_own_ops() comes
/// before emit(). An input that is an output of the same name and type is
/// written in place: that output is `et::index_put_` or `et::copy_` of it. Error{kUnsupported}
/// lists every op that has neither a row nor a body, with counts. Inputs that nothing reads are
/// dropped; `dropped` receives their names.
std::unique_ptr<Graph> lower(const ExportedProgram& program,
                             std::vector<std::string>* dropped = nullptr);

}  // namespace slipway::executorch

// Lowering: from ATen and composite ops to a graph of OpenVINO ops.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "lowering/node_lowering.h"
#include "lowering/rows.h"

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

/// One source node being lowered to OpenVINO ops.
class Lower final : public lowering::TensorSizes {
 public:
  Lower(LowerState& state, Node& source);

  /// The type that the source node's output has in the target graph.
  ValueType out(size_t i = 0) const;

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
  /// Elements [begin, end) of an axis.
  Value slice(Value x, int64_t axis, int64_t begin, int64_t end);
  /// The first elements along every axis: x itself where the shape is its own.
  Value corner(Value x, const SymShape& shape);
  /// Entries of an axis by number; a scalar takes the axis away.
  Value gather(Value x, Value indices, int64_t axis);
  Value concat(const std::vector<Value>& parts, int64_t axis) override;

  /// The contents of tensor argument i under another shape: of the stored weight where it is one.
  Value weight_as(size_t i, const Shape& shape);

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

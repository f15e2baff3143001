// Lowering: the notation of ONNX.
#include "backends/onnx/lower.h"

#include <fmt/format.h>

#include "backends/onnx/lower_state.h"
#include "checkpoint/expr.h"

namespace slipway::onnx {

Lower::Lower(LowerState& state, Node& source) : TensorSizes(state, source), state_(state) {}

int64_t Lower::opset() const { return state_.options.opset_version; }

Value Lower::cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : (*this)("onnx::Cast", {x, named("to", dtype)});
}

Value Lower::reshape(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  const lowering::ReshapeTarget to = lowering::reshape_target(x.shape(), shape);
  if (to.ambiguous)
    return typed("onnx::Reshape", {x, sizes(shape), named("allowzero", 1)}, {x.dtype(), shape});
  return typed("onnx::Reshape", {x, to.one_hole ? ints(to.numbers) : sizes(shape)},
               {x.dtype(), shape});
}

Value Lower::unsqueeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return typed("onnx::Unsqueeze", {x, ints({axis})}, {x.dtype(), shape});
}

Value Lower::squeeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return typed("onnx::Squeeze", {x, ints({axis})}, {x.dtype(), shape});
}

Value Lower::permute(Value x, const std::vector<int64_t>& axes) {
  bool moves = false;
  for (size_t i = 0; i < axes.size(); ++i) moves = moves || axes[i] != static_cast<int64_t>(i);
  if (!moves) return x;
  return (*this)("onnx::Transpose", {x, named("perm", std::vector<Sym>(axes.begin(), axes.end()))});
}

Value Lower::expand(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  return typed("onnx::Expand", {x, sizes(shape)}, {x.dtype(), shape});
}

Value Lower::cut(Value x, int64_t axis, Value start, Value end, int64_t step, ValueType type) {
  return typed("onnx::Slice", {x, start, end, ints({axis}), ints({step})}, std::move(type));
}

Value Lower::corner(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const auto all = [&](int64_t value) { return ints(std::vector<int64_t>(axes.size(), value)); };
  return typed("onnx::Slice", {x, all(0), sizes(shape), ints(axes), all(1)}, {x.dtype(), shape});
}

Value Lower::gather(Value x, Value indices, int64_t axis) {
  return (*this)("onnx::Gather", {x, indices, named("axis", axis)});
}

Value Lower::concat(const std::vector<Value>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : (*this)("onnx::Concat", {parts, named("axis", axis)});
}

Value Lower::read_size(const lowering::Place& place) {
  return (*this)("onnx::Shape",
                 {place.tensor, named("start", place.axis), named("end", place.axis + 1)});
}

Value Lower::combine_sizes(Sym s, Value a, Value b) {
  switch (s.kind()) {
    case SymKind::kAdd:
      return (*this)("onnx::Add", {a, b});
    case SymKind::kMul:
      return (*this)("onnx::Mul", {a, b});
    case SymKind::kFloorDiv:  // Div rounds towards zero: take the remainder out before
      if (s.args()[0].bounds().lo < 0 || s.args()[1].bounds().lo < 0)
        a = (*this)("onnx::Sub", {a, (*this)("onnx::Mod", {a, b})});
      return (*this)("onnx::Div", {a, b});
    case SymKind::kMod:
      return (*this)("onnx::Mod", {a, b});
    case SymKind::kMin:
      return (*this)("onnx::Min", {a, b});
    default:
      SLIPWAY_ASSERT(s.kind() == SymKind::kMax);
      return (*this)("onnx::Max", {a, b});
  }
}

Value Lower::transposed_weight(size_t i) {
  const Value source = args().value(i);
  const Node* node = source.node();
  if (node->kind != NodeKind::kWeight || node->data == nullptr) return permute(in(i), {1, 0});
  Value& result = state_.transposed[node];
  if (result.defined()) return result;
  const ScopeGuard scope(state_.target, node->scope);
  result = state_.read_untransposed.count(node) != 0
               ? permute(in(i), {1, 0})
               : state_.target.add_weight(node->name, lazy_transpose2d(node->data));
  return result;
}

Value Lower::group_matrix(size_t i, int64_t group) {
  const Node* node = args().value(i).node();
  const bool turned = node->kind == NodeKind::kOp && node->op->name() == "aten::transpose.int" &&
                      node->types[0].shape.size() == 3;
  if (turned) node = node->arguments().value(0).node();
  if (node->kind == NodeKind::kWeight && node->data != nullptr &&
      state_.read_untransposed.count(node) == 0) {
    Value& result = state_.groups[{node, group}];
    if (result.defined()) return result;
    const Shape& shape = node->data->shape();
    Lazy matrix = lazy_reshape(lazy_slice(node->data, group, group + 1), {shape[1], shape[2]});
    if (turned) matrix = lazy_transpose2d(std::move(matrix));
    const ScopeGuard scope(state_.target, node->scope);
    result = state_.target.add_weight(fmt::format("{}.{}", node->name, group), std::move(matrix));
    return result;
  }
  return (*this)("onnx::Gather",
                 {in(i), scalar(static_cast<double>(group), DType::kI64), named("axis", 0)});
}

}  // namespace slipway::onnx

// Lowering: the notation of OpenVINO.
#include "backends/openvino/lower.h"

#include <numeric>

#include "backends/openvino/lower_state.h"
#include "checkpoint/expr.h"

namespace slipway::openvino {

Value LowerState::constant(const Lazy& data) {
  return State::constant(materialize(*lazy_cast(data, computed_as(data->dtype()))));
}

Value LowerState::weight(const std::string& name, Lazy data) {
  const Value stored = target.add_weight(name, std::move(data));
  const DType wide = computed_as(stored.dtype());
  if (stored.dtype() == wide) return stored;
  return target.emit("ov::Convert", {stored, named("destination_type", wide)});
}

DType computed_as(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 ? DType::kF32 : dtype;
}

Lower::Lower(LowerState& state, Node& source) : TensorSizes(state, source), state_(state) {}

ValueType Lower::out(size_t i) const {
  return {computed_as(source().types[i].dtype), source().types[i].shape};
}

/// Convert to bool would round: what is not zero is true.
Value Lower::cast(Value x, DType dtype) {
  dtype = computed_as(dtype);
  if (x.dtype() == dtype) return x;
  if (dtype == DType::kBool) return (*this)("ov::NotEqual", {x, scalar(0.0, x.dtype())});
  return (*this)("ov::Convert", {x, named("destination_type", dtype)});
}

Value Lower::reshape(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  if (shape.empty()) {  // an empty constant as the target would crash the runtime
    std::vector<int64_t> axes(x.shape().size());
    std::iota(axes.begin(), axes.end(), 0);
    return typed("ov::Squeeze", {x, ints(axes)}, {x.dtype(), shape});
  }
  const lowering::ReshapeTarget to = lowering::reshape_target(x.shape(), shape);
  const bool constant = to.one_hole && !to.ambiguous;
  return typed("ov::Reshape",
               {x, constant ? ints(to.numbers) : sizes(shape), named("special_zero", constant)},
               {x.dtype(), shape});
}

Value Lower::unsqueeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return typed("ov::Unsqueeze", {x, ints({axis})}, {x.dtype(), shape});
}

Value Lower::squeeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return typed("ov::Squeeze", {x, ints({axis})}, {x.dtype(), shape});
}

Value Lower::permute(Value x, const std::vector<int64_t>& axes) {
  bool moves = false;
  SymShape shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    moves = moves || axes[i] != static_cast<int64_t>(i);
    shape.push_back(x.dim(axes[i]));
  }
  if (!moves) return x;
  return typed("ov::Transpose", {x, ints(axes)}, {x.dtype(), shape});
}

Value Lower::expand(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  return typed("ov::Broadcast", {x, sizes(shape)}, {x.dtype(), shape});
}

Value Lower::cut(Value x, int64_t axis, Value start, Value end, int64_t step, ValueType type) {
  return typed("ov::Slice", {x, start, end, ints({step}), ints({axis})}, std::move(type));
}

Value Lower::slice(Value x, int64_t axis, int64_t begin, int64_t end) {
  SymShape shape = x.shape();
  shape[static_cast<size_t>(axis)] = end - begin;
  return cut(x, axis, ints({begin}), ints({end}), 1, {x.dtype(), shape});
}

Value Lower::corner(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const auto all = [&](int64_t value) { return ints(std::vector<int64_t>(axes.size(), value)); };
  return typed("ov::Slice", {x, all(0), sizes(shape), all(1), ints(axes)}, {x.dtype(), shape});
}

Value Lower::gather(Value x, Value indices, int64_t axis) {
  SymShape shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  return typed("ov::Gather", {x, indices, scalar(static_cast<double>(axis), DType::kI64)},
               {x.dtype(), shape});
}

Value Lower::concat(const std::vector<Value>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : (*this)("ov::Concat", {parts, named("axis", axis)});
}

Value Lower::read_size(const lowering::Place& place) {
  const ValueType shape{DType::kI64, {place.tensor.rank()}};
  return gather(typed("ov::ShapeOf", {place.tensor}, shape), ints({place.axis}), 0);
}

Value Lower::combine_sizes(Sym s, Value a, Value b) {
  switch (s.kind()) {
    case SymKind::kAdd:
      return (*this)("ov::Add", {a, b});
    case SymKind::kMul:
      return (*this)("ov::Multiply", {a, b});
    case SymKind::kFloorDiv:  // Divide rounds towards zero: take the remainder out before
      if (s.args()[0].bounds().lo < 0 || s.args()[1].bounds().lo < 0)
        a = (*this)("ov::Subtract", {a, (*this)("ov::FloorMod", {a, b})});
      return (*this)("ov::Divide", {a, b, named("m_pythondiv", false)});
    case SymKind::kMod:
      return (*this)("ov::FloorMod", {a, b});
    case SymKind::kMin:
      return (*this)("ov::Minimum", {a, b});
    default:
      SLIPWAY_ASSERT(s.kind() == SymKind::kMax);
      return (*this)("ov::Maximum", {a, b});
  }
}

Value Lower::weight_as(size_t i, const Shape& shape) {
  const Node* node = args().value(i).node();
  const SymShape symbolic(shape.begin(), shape.end());
  if (node->kind != NodeKind::kWeight || node->data == nullptr) return reshape(in(i), symbolic);
  if (node->data->shape() == shape) return in(i);
  Value& result = state_.reshaped[{node, shape}];
  if (!result.defined()) {
    const ScopeGuard scope(state_.target, node->scope);
    result = state_.weight(node->name, lazy_reshape(node->data, shape));
  }
  return result;
}

}  // namespace slipway::openvino

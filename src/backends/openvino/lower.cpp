// Lowering: the notation, sizes, constants.
#include "backends/openvino/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/openvino/lower_state.h"
#include "base/floats.h"
#include "checkpoint/expr.h"
#include "ir/eval.h"

namespace slipway::openvino {
namespace {

Tensor scalar_tensor(double value, DType dtype) {
  Tensor t(dtype, {});
  std::byte* out = t.mutable_data();
  const auto put = [&](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (dtype) {
    case DType::kF64:
      put(value);
      break;
    case DType::kF32:
      put(static_cast<float>(value));
      break;
    case DType::kF16:
      put(float_to_f16(static_cast<float>(value)));
      break;
    case DType::kBF16:
      put(float_to_bf16(static_cast<float>(value)));
      break;
    case DType::kI64:
      put(static_cast<int64_t>(value));
      break;
    case DType::kI32:
      put(static_cast<int32_t>(value));
      break;
    case DType::kBool:
      put(static_cast<uint8_t>(value != 0));
      break;
    default: {
      Array one{dtype, {}, {value}};
      one.round();
      return one.to_tensor();
    }
  }
  return t;
}

}  // namespace

Value LowerState::constant(const Tensor& tensor) {
  std::string key = fmt::format("{}{}:", short_name(tensor.dtype()), shape_string(tensor.shape()));
  key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.nbytes()));
  const auto at = constants.find(key);
  if (at != constants.end()) return at->second;
  const ScopeGuard top(target, "");
  return constants[key] = target.constant(tensor);
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

Value Lower::in(size_t i) {
  const Value v = args().optional(i);
  return v.defined() ? state_.lowered.at(v) : Value();
}

std::vector<Value> Lower::ins(size_t i) {
  std::vector<Value> result;
  for (Value v : args().values(i)) result.push_back(v.defined() ? state_.lowered.at(v) : Value());
  return result;
}

Value Lower::operand(size_t i, DType dtype) {
  if (std::holds_alternative<Value>(args()[i])) return in(i, dtype);
  if (const auto* s = std::get_if<Sym>(&args()[i]); s != nullptr && !s->is_const())
    return cast(squeeze(size(*s), 0), dtype);
  return scalar(args().number(i), dtype);
}

ValueType Lower::out(size_t i) const {
  return {computed_as(source_.types[i].dtype), source_.types[i].shape};
}

Value Lower::operator()(std::string_view op, std::initializer_list<OpArg> list) {
  return state_.target.emit(op, list);
}

Value Lower::typed(std::string_view op, std::initializer_list<OpArg> list, ValueType type) {
  return state_.target.emit_as(get_op(op), std::vector<OpArg>(list), {std::move(type)})[0];
}

std::vector<Value> Lower::typed_all(std::string_view op, std::initializer_list<OpArg> list,
                                    std::vector<ValueType> types) {
  return state_.target.emit_as(get_op(op), std::vector<OpArg>(list), std::move(types));
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
  const SymShape& from = x.shape();
  if (shape.empty()) {  // an empty constant as the target would crash the runtime
    std::vector<int64_t> axes(from.size());
    std::iota(axes.begin(), axes.end(), 0);
    return typed("ov::Squeeze", {x, ints(axes)}, {x.dtype(), shape});
  }
  std::vector<int64_t> target;
  bool constant = true, hole = false, may_be_empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    may_be_empty = may_be_empty || shape[i].bounds().lo < 1;
    if (shape[i].is_const()) {
      target.push_back(shape[i].value());
    } else if (i < from.size() && from[i] == shape[i]) {
      target.push_back(0);  // as in the input
    } else {
      constant = constant && !hole;
      hole = true;
      target.push_back(-1);
    }
  }
  // With an empty tensor -1 is ambiguous, and a constant 0 would mean "as in the input".
  const bool zero = std::find(shape.begin(), shape.end(), Sym(0)) != shape.end();
  constant = constant && !(may_be_empty && (hole || zero));
  return typed("ov::Reshape",
               {x, constant ? ints(target) : sizes(shape), named("special_zero", constant)},
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

Value Lower::slice(Value x, int64_t axis, int64_t begin, int64_t end) {
  SymShape shape = x.shape();
  shape[static_cast<size_t>(axis)] = end - begin;
  return typed("ov::Slice", {x, ints({begin}), ints({end}), ints({1}), ints({axis})},
               {x.dtype(), shape});
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

Value Lower::scalar(double value, DType dtype) {
  return state_.constant(scalar_tensor(value, dtype));
}

Value Lower::ints(const std::vector<int64_t>& values) {
  return state_.constant(Tensor::copy_of<int64_t>({static_cast<int64_t>(values.size())},
                                                  std::span<const int64_t>(values)));
}

Value Lower::floats(const std::vector<float>& values) {
  return state_.constant(Tensor::copy_of<float>({static_cast<int64_t>(values.size())},
                                                std::span<const float>(values)));
}

Value Lower::size(Sym s) {
  if (s.is_const()) return ints({s.value()});
  if (const auto at = state_.sizes.find(s.str()); at != state_.sizes.end()) return at->second;
  const ScopeGuard top(state_.target, "sizes");
  Value result;
  if (const auto at = state_.places.find(s.str()); at != state_.places.end()) {
    const auto [input, axis] = at->second;
    const ValueType shape{DType::kI64, {input.rank()}};
    result = gather(typed("ov::ShapeOf", {input}, shape), ints({axis}), 0);
  } else {
    SLIPWAY_ASSERT(!s.is_symbol());  // every symbol is some input's size, or lower() refused it
    const char* op = nullptr;
    switch (s.kind()) {
      case SymKind::kAdd:
        op = "ov::Add";
        break;
      case SymKind::kMul:
        op = "ov::Multiply";
        break;
      case SymKind::kFloorDiv: {  // Divide rounds towards zero: take the remainder out before
        const Value a = size(s.args()[0]), b = size(s.args()[1]);
        result = a;
        if (s.args()[0].bounds().lo < 0 || s.args()[1].bounds().lo < 0) {
          const Value rest = (*this)("ov::FloorMod", {a, b});
          result = (*this)("ov::Subtract", {a, rest});
        }
        result = (*this)("ov::Divide", {result, b, named("m_pythondiv", false)});
        return state_.sizes[s.str()] = result;
      }
      case SymKind::kMod:
        op = "ov::FloorMod";
        break;
      case SymKind::kMin:
        op = "ov::Minimum";
        break;
      case SymKind::kMax:
        op = "ov::Maximum";
        break;
      default:
        SLIPWAY_ASSERT(false);
    }
    result = size(s.args()[0]);
    for (size_t i = 1; i < s.args().size(); ++i) {
      const Value next = size(s.args()[i]);
      result = (*this)(op, {result, next});
    }
  }
  return state_.sizes[s.str()] = result;
}

Value Lower::sizes(const SymShape& shape) {
  std::vector<Value> parts;
  std::vector<int64_t> run;
  const auto flush = [&] {
    if (!run.empty()) parts.push_back(ints(run));
    run.clear();
  };
  for (Sym s : shape) {
    if (s.is_const()) {
      run.push_back(s.value());
    } else {
      flush();
      parts.push_back(size(s));
    }
  }
  flush();
  if (parts.empty()) return ints({});
  return concat(parts, 0);
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

// Lowering: the notation, sizes, constants.
#include "backends/onnx/lower.h"

#include <fmt/format.h>

#include "backends/onnx/lower_state.h"
#include "base/floats.h"
#include "checkpoint/expr.h"
#include "ir/eval.h"

namespace slipway::onnx {
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

int64_t Lower::opset() const { return state_.options.opset_version; }

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
  if (const auto* s = std::get_if<Sym>(&args()[i]); s != nullptr && !s->is_const()) {
    const Value one = size(*s);
    return cast(typed("onnx::Squeeze", {one, ints({0})}, {DType::kI64, {}}), dtype);
  }
  return scalar(args().number(i), dtype);
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

Value Lower::cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : (*this)("onnx::Cast", {x, named("to", dtype)});
}

Value Lower::reshape(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  const SymShape& from = x.shape();
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
  if (may_be_empty && (hole || std::find(shape.begin(), shape.end(), Sym(0)) != shape.end()))
    return typed("onnx::Reshape", {x, sizes(shape), named("allowzero", 1)}, {x.dtype(), shape});
  const Value to = constant ? ints(target) : sizes(shape);
  return typed("onnx::Reshape", {x, to}, {x.dtype(), shape});
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
    result = (*this)("onnx::Shape", {input, named("start", axis), named("end", axis + 1)});
  } else {
    SLIPWAY_ASSERT(!s.is_symbol());  // every symbol is some input's size, or lower() refused it
    const char* op = nullptr;
    switch (s.kind()) {
      case SymKind::kAdd:
        op = "onnx::Add";
        break;
      case SymKind::kMul:
        op = "onnx::Mul";
        break;
      case SymKind::kFloorDiv: {  // Div rounds towards zero: take the remainder out before
        const Value a = size(s.args()[0]), b = size(s.args()[1]);
        result = a;
        if (s.args()[0].bounds().lo < 0 || s.args()[1].bounds().lo < 0) {
          const Value rest = (*this)("onnx::Mod", {a, b});
          result = (*this)("onnx::Sub", {a, rest});
        }
        result = (*this)("onnx::Div", {result, b});
        return state_.sizes[s.str()] = result;
      }
      case SymKind::kMod:
        op = "onnx::Mod";
        break;
      case SymKind::kMin:
        op = "onnx::Min";
        break;
      case SymKind::kMax:
        op = "onnx::Max";
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
  return parts.size() == 1 ? parts[0] : (*this)("onnx::Concat", {parts, named("axis", 0)});
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

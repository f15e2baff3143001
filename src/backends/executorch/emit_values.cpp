// The values of a method in the making.
#include "backends/executorch/emit_values.h"

#include <fmt/format.h>

#include "backends/executorch/kernels.h"
#include "ir/op.h"

namespace slipway::executorch {
namespace {

/// c10::ScalarType, as the files number them.
int64_t scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return 0;
    case DType::kI8:
      return 1;
    case DType::kI16:
      return 2;
    case DType::kI32:
      return 3;
    case DType::kI64:
      return 4;
    case DType::kF16:
      return 5;
    case DType::kF32:
      return 6;
    case DType::kF64:
      return 7;
    case DType::kBool:
      return 11;
    case DType::kBF16:
      return 15;
    default:
      throw Error(kUnsupported,
                  fmt::format("[executorch] its kernels have no {}", short_name(dtype)));
  }
}

}  // namespace

ValueId MethodValues::add_tensor(Value value) {
  return ids_[value] = method_.add(TensorValue{.dtype = value.dtype(), .shape = value.shape()});
}

void MethodValues::add_buffer(Node& input) {
  const ValueType& type = input.types[0];
  SLIPWAY_ASSERT(!is_dynamic(type.shape));
  ids_[input.out()] = method_.add(TensorValue{
      .dtype = type.dtype, .shape = type.shape, .storage = Storage::kBuffer, .name = input.name});
}

void MethodValues::add_constant(Value value) {
  const Lazy& data = value.node()->data;
  if (data == nullptr)
    throw Error(kInvalid,
                fmt::format("[executorch] the weight {} has no data", value.node()->name));
  const auto [at, added] = stored_.try_emplace(data.get(), 0);
  if (added)
    at->second = method_.add(TensorValue{.dtype = value.dtype(),
                                         .shape = value.shape(),
                                         .storage = Storage::kConstant,
                                         .data = data});
  ids_[value] = at->second;
}

ValueId MethodValues::copy(Value value) {
  const ValueId from = of(value);
  const ValueId to = method_.add(TensorValue{.dtype = value.dtype(), .shape = value.shape()});
  const ValueId none = method_.constant(NoneValue{});
  method_.instructions.emplace_back(KernelCall{"aten::clone", "out", {from, none, to, to}});
  return to;
}

ValueId MethodValues::ints(const std::vector<Sym>& items) {
  std::vector<ValueId> ids;
  for (const Sym item : items) ids.push_back(size(item));
  const auto [at, added] = int_lists_.try_emplace(ids, 0);
  if (added) at->second = method_.add(IntListValue{ids});
  return at->second;
}

ValueId MethodValues::argument(const SchemaArg& schema, const Arg& arg) {
  if (std::holds_alternative<std::monostate>(arg)) return method_.constant(NoneValue{});
  if (const auto* value = std::get_if<Value>(&arg)) return of(*value);
  if (const auto* list = std::get_if<std::vector<Value>>(&arg)) {
    std::vector<ValueId> ids;
    for (const Value value : *list)
      ids.push_back(value.defined() ? of(value) : method_.constant(NoneValue{}));
    if (schema.optional_items) return method_.add(OptionalTensorListValue{std::move(ids)});
    return method_.add(TensorListValue{std::move(ids)});
  }
  if (const auto* flag = std::get_if<bool>(&arg)) return method_.constant(*flag);
  if (const auto* number = std::get_if<Sym>(&arg)) {
    if (schema.type == ArgType::kFloat && number->is_const())
      return method_.constant(static_cast<double>(number->value()));
    if (schema.type == ArgType::kIntList) return ints({*number});
    return size(*number);
  }
  if (const auto* numbers = std::get_if<std::vector<Sym>>(&arg)) return ints(*numbers);
  if (const auto* real = std::get_if<double>(&arg)) return method_.constant(*real);
  if (const auto* reals = std::get_if<std::vector<double>>(&arg))
    return method_.add(DoubleListValue{*reals});
  if (const auto* text = std::get_if<std::string>(&arg)) return method_.add(*text);
  return method_.constant(scalar_type(std::get<DType>(arg)));
}

std::vector<ValueId> MethodValues::arguments(const Node& node) {
  std::vector<ValueId> ids;
  const auto& schema = node.op->schema.args;
  for (size_t i = 0; i < schema.size(); ++i) ids.push_back(argument(schema[i], node.args[i]));
  return ids;
}

/// Out tensors follow the arguments, and once more as results; several as one value each.
void MethodValues::emit_call(const Node& node, std::vector<ValueId> args,
                             const std::vector<ValueId>& outs) {
  KernelName kernel = kernel_of(*node.op);
  if (!writes_in_place(*node.op)) args.insert(args.end(), outs.begin(), outs.end());
  if (outs.size() == 1) args.push_back(outs[0]);
  else args.push_back(method_.add(TensorListValue{outs}));
  method_.instructions.emplace_back(
      KernelCall{std::move(kernel.op), std::move(kernel.overload), std::move(args)});
}

void MethodValues::call(const Node& node) {
  std::vector<ValueId> args = arguments(node);
  std::vector<ValueId> outs;
  for (size_t i = 0; i < node.types.size(); ++i)
    outs.push_back(add_tensor(Value(const_cast<Node*>(&node), static_cast<int>(i))));
  emit_call(node, std::move(args), outs);
}

void MethodValues::call_in_place(const Node& node) {
  std::vector<ValueId> args = arguments(node);
  const ValueId self = args[0];
  ids_[Value(const_cast<Node*>(&node), 0)] = self;
  emit_call(node, std::move(args), {self});
}

/// Both sides must be able to change their sizes alike: the memory is planned for one of them.
bool MethodValues::can_view(const Node& node) const {
  const Value from = node.arguments().value(0);
  const TensorValue& base = method_.tensor(of(from));
  if (base.storage != Storage::kPlanned) return false;
  const SymShape& shape = node.types[0].shape;
  return is_dynamic(from.shape()) == is_dynamic(shape) &&
         slipway::numel(upper_bound(shape, "[executorch] a view")) <=
             slipway::numel(upper_bound(from.shape(), "[executorch] a view"));
}

void MethodValues::view(const Node& node) {
  const ValueId base = of(node.arguments().value(0));
  const ValueId shape = ints(node.arguments().syms(1));
  const ValueId out = method_.add(
      TensorValue{.dtype = node.types[0].dtype, .shape = node.types[0].shape, .view_of = base});
  ids_[Value(const_cast<Node*>(&node), 0)] = out;
  method_.instructions.emplace_back(
      KernelCall{"executorch_prim::et_view", "default", {base, shape, out}});
}

void MethodValues::slice_last(const Node& node) {
  const Args a = node.arguments();
  const ValueId count = method_.add(int64_t{0});
  method_.instructions.emplace_back(
      KernelCall{"aten::_local_scalar_dense", "", {of(a.value(2)), count}});
  const ValueId start = prim("executorch_prim::neg", "Scalar", {count});
  const Value result(const_cast<Node*>(&node), 0);
  const ValueId x = of(a.value(0)), out = add_tensor(result);
  const ValueId axis = size(a.sym(1)), end = size(Sym(Sym::kUnbounded)), step = size(1);
  method_.instructions.emplace_back(
      KernelCall{"aten::slice_copy", "Tensor_out", {x, axis, start, end, step, out, out}});
  add_places(result);
}

ValueId MethodValues::prim(const char* op, const char* overload, std::vector<ValueId> args) {
  const ValueId result = method_.add(int64_t{0});
  args.push_back(result);
  method_.instructions.emplace_back(KernelCall{op, overload, std::move(args)});
  return result;
}

ValueId MethodValues::size(Sym s) {
  if (s.is_const()) return method_.constant(s.value());
  if (const auto at = sizes_.find(s.str()); at != sizes_.end()) return at->second;
  const ValueId id = lowering::compute_size<ValueId>(s, places_, *this);
  return sizes_[s.str()] = id;
}

ValueId MethodValues::read_size(const lowering::Place& place) {
  return prim("aten::sym_size", "int", {of(place.tensor), size(place.axis)});
}

ValueId MethodValues::combine_sizes(Sym s, ValueId a, ValueId b) {
  switch (s.kind()) {
    case SymKind::kAdd:
      return prim("executorch_prim::add", "Scalar", {a, b});
    case SymKind::kMul:
      return prim("executorch_prim::mul", "Scalar", {a, b});
    case SymKind::kFloorDiv:
      return prim("executorch_prim::floordiv", "Scalar", {a, b});
    case SymKind::kMod: {  // the kernel's remainder has the dividend's sign
      if (s.args()[0].bounds().lo >= 0 && s.args()[1].bounds().lo >= 0)
        return prim("executorch_prim::mod", "Scalar", {a, b});
      const ValueId quotient = prim("executorch_prim::floordiv", "Scalar", {a, b});
      const ValueId whole = prim("executorch_prim::mul", "Scalar", {quotient, b});
      return prim("executorch_prim::sub", "Scalar", {a, whole});
    }
    case SymKind::kMin:
      return prim("executorch_prim::sym_min", "Scalar", {a, b});
    default:
      SLIPWAY_ASSERT(s.kind() == SymKind::kMax);
      return prim("executorch_prim::sym_max", "Scalar", {a, b});
  }
}

}  // namespace slipway::executorch

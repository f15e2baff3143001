// One node being lowered: operands, constants, sizes as tensors.
#include "lowering/node_lowering.h"

#include <algorithm>

namespace slipway::lowering {

Value NodeLowering::in(size_t i) const {
  const Value v = args().optional(i);
  return v.defined() ? common_.lowered.at(v) : Value();
}

std::vector<Value> NodeLowering::ins(size_t i) const {
  std::vector<Value> result;
  for (Value v : args().values(i)) result.push_back(v.defined() ? common_.lowered.at(v) : Value());
  return result;
}

Value NodeLowering::operator()(std::string_view op, std::initializer_list<OpArg> list) {
  return common_.target.emit(op, list);
}

Value NodeLowering::typed(std::string_view op, std::initializer_list<OpArg> list, ValueType type) {
  return common_.target.emit_as(get_op(op), std::vector<OpArg>(list), {std::move(type)})[0];
}

std::vector<Value> NodeLowering::typed_all(std::string_view op, std::initializer_list<OpArg> list,
                                           std::vector<ValueType> types) {
  return common_.target.emit_as(get_op(op), std::vector<OpArg>(list), std::move(types));
}

Value NodeLowering::ints(const std::vector<int64_t>& values) {
  return common_.constant(Tensor::copy_of<int64_t>({static_cast<int64_t>(values.size())},
                                                   std::span<const int64_t>(values)));
}

Value NodeLowering::floats(const std::vector<float>& values) {
  return common_.constant(Tensor::copy_of<float>({static_cast<int64_t>(values.size())},
                                                 std::span<const float>(values)));
}

Value TensorSizes::operand(size_t i, DType dtype) {
  if (std::holds_alternative<Value>(args()[i])) return in(i, dtype);
  if (const auto* s = std::get_if<Sym>(&args()[i]); s != nullptr && !s->is_const())
    return cast(squeeze(size(*s), 0), dtype);
  return scalar(args().number(i), dtype);
}

Value TensorSizes::size(Sym s) {
  if (s.is_const()) return ints({s.value()});
  if (const auto at = common_.sizes.find(s.str()); at != common_.sizes.end()) return at->second;
  const ScopeGuard top(common_.target, "sizes");
  return common_.sizes[s.str()] = compute_size<Value>(s, common_.places, *this);
}

Value TensorSizes::sizes(const SymShape& shape) {
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
  return parts.empty() ? ints({}) : concat(parts, 0);
}

ReshapeTarget reshape_target(const SymShape& from, const SymShape& to) {
  ReshapeTarget result;
  bool hole = false, may_be_empty = false;
  for (size_t i = 0; i < to.size(); ++i) {
    may_be_empty = may_be_empty || to[i].bounds().lo < 1;
    if (to[i].is_const()) {
      result.numbers.push_back(to[i].value());
    } else if (i < from.size() && from[i] == to[i]) {
      result.numbers.push_back(0);
    } else {
      result.one_hole = result.one_hole && !hole;
      hole = true;
      result.numbers.push_back(-1);
    }
  }
  const bool zero = std::find(to.begin(), to.end(), Sym(0)) != to.end();
  result.ambiguous = may_be_empty && (hole || zero);
  return result;
}

}  // namespace slipway::lowering

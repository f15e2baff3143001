// Types of target ops that convert nothing by themselves.
#include "lowering/infer.h"

#include "ir/ops/infer.h"

namespace slipway::lowering {

using ops::broadcast;

std::vector<ValueType> two(const Args& a) {
  if (a.type(0).dtype != a.type(1).dtype)
    a.fail("got " + to_string(a.type(0)) + " and " + to_string(a.type(1)) + ", need one dtype");
  return {{a.type(0).dtype, broadcast(a.type(0).shape, a.type(1).shape)}};
}

std::vector<ValueType> two_to_bool(const Args& a) { return {{DType::kBool, two(a)[0].shape}}; }

std::vector<ValueType> self(const Args& a) { return {a.type(0)}; }

std::vector<ValueType> self_to_bool(const Args& a) { return {{DType::kBool, a.type(0).shape}}; }

std::vector<ValueType> choice(const Args& a) {
  if (a.type(1).dtype != a.type(2).dtype) a.fail("both branches must have one dtype");
  return {
      {a.type(1).dtype, broadcast(a.type(0).shape, broadcast(a.type(1).shape, a.type(2).shape))}};
}

std::vector<ValueType> converted(const Args& a) { return {{a.dtype(1), a.type(0).shape}}; }

std::vector<ValueType> joined(const Args& a) {
  const std::vector<Value>& parts = a.values(0);
  ValueType out = parts.at(0).type();
  const auto axis = static_cast<size_t>(a.axis(1, parts[0].rank()));
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].dtype() != out.dtype) a.fail("the parts must have one dtype");
    out.shape[axis] = out.shape[axis] + parts[i].dim(static_cast<int64_t>(axis));
  }
  return {out};
}

std::vector<ValueType> at_indices(const Args& a) { return {{a.type(0).dtype, a.type(1).shape}}; }

}  // namespace slipway::lowering

// Lowering functions of element-wise ops.
#include "lowering/elementwise.h"

#include "ir/ops/infer.h"

namespace slipway::lowering {

DType comparison_dtype(const Args& args) {
  const DType a = args.type(0).dtype;
  if (std::holds_alternative<Value>(args[1])) return ops::promote(args.type(0), args.type(1));
  if (std::holds_alternative<double>(args[1]) && !is_floating(a)) return DType::kF32;
  return a == DType::kBool && std::holds_alternative<Sym>(args[1]) ? DType::kI64 : a;
}

}  // namespace slipway::lowering

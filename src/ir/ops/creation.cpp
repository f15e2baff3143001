// Tensors from nothing: ranges and fills.
#include <cmath>

#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

std::vector<ValueType> full(const Args& a) {
  DType dtype = DType::kF32;
  if (a.has(2)) dtype = a.dtype(2);
  else if (std::holds_alternative<Sym>(a[1])) dtype = DType::kI64;
  else if (std::holds_alternative<bool>(a[1])) dtype = DType::kBool;
  return {{dtype, a.syms(0)}};
}

/// Numbers with a fraction must be numbers, not symbols. A symbolic length needs a fixed step.
std::vector<ValueType> arange(const Args& a) {
  bool whole = true;
  for (size_t i = 0; i < 3; ++i) whole = whole && std::holds_alternative<Sym>(a[i]);
  if (!whole) {
    const double start = a.number(0), end = a.number(1), step = a.number(2);
    const double length = std::ceil((end - start) / step);
    if (step == 0 || !(std::fabs(length) < 1e12)) a.fail("needs a step that reaches the end");
    if (length < 0) a.fail("the end is on the wrong side of the start");
    return {{a.has(3) ? a.dtype(3) : DType::kF32, {static_cast<int64_t>(length)}}};
  }
  const Sym start = a.sym(0), end = a.sym(1);
  const int64_t step = a.integer(2);
  if (step == 0) a.fail("step must not be 0");
  const Sym length = step > 0 ? floordiv(end - start + (step - 1), step)
                              : floordiv(start - end + (-step - 1), -step);
  return {{a.has(3) ? a.dtype(3) : DType::kI64, {max(length, 0)}}};
}

const OpRow kRows[] = {
    {.schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
               "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     .infer = full,
     .eval = eval::full},
    {.schema = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
               "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
               "bool? pin_memory=None) -> Tensor",
     .infer = arange,
     .eval = eval::arange},
};

}  // namespace

std::span<const OpRow> creation() { return kRows; }

}  // namespace slipway::ops

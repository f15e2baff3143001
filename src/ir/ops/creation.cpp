// Tensors from nothing: ranges and fills.
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

/// start, end, step are integers here; a symbolic length needs a step of 1.
std::vector<ValueType> arange(const Args& a) {
  const Sym start = a.sym(0), end = a.sym(1);
  const int64_t step = a.integer(2);
  if (step < 1) a.fail("step must be at least 1");
  const Sym length = max(floordiv(end - start + (step - 1), step), 0);
  return {{a.has(3) ? a.dtype(3) : DType::kI64, {length}}};
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

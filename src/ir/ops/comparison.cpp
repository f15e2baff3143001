// Comparisons, logic and selection.
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

std::vector<ValueType> where(const Args& a) {
  if (a.type(0).dtype != DType::kBool) a.fail("the condition must be bool");
  return {{promote(a.type(1), a.type(2)),
           broadcast(a.type(0).shape, broadcast(a.type(1).shape, a.type(2).shape))}};
}

std::vector<ValueType> masked_fill(const Args& a) {
  if (a.type(1).dtype != DType::kBool) a.fail("the mask must be bool");
  return {{a.type(0).dtype, broadcast(a.type(0).shape, a.type(1).shape)}};
}

const OpRow kRows[] = {
    {.schema = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::eq,
     .traits = kElementwise | kCommutes},
    {.schema = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::eq,
     .traits = kElementwise},
    {.schema = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::ne,
     .traits = kElementwise | kCommutes},
    {.schema = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::ne,
     .traits = kElementwise},
    {.schema = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::lt,
     .traits = kElementwise},
    {.schema = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::lt,
     .traits = kElementwise},
    {.schema = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::le,
     .traits = kElementwise},
    {.schema = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::le,
     .traits = kElementwise},
    {.schema = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::gt,
     .traits = kElementwise},
    {.schema = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::gt,
     .traits = kElementwise},
    {.schema = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::ge,
     .traits = kElementwise},
    {.schema = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::ge,
     .traits = kElementwise},
    {.schema = "aten::logical_and(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::logical_and,
     .traits = kElementwise | kCommutes},
    {.schema = "aten::logical_or(Tensor self, Tensor other) -> Tensor",
     .infer = comparison_of_two,
     .eval = eval::logical_or,
     .traits = kElementwise | kCommutes},
    {.schema = "aten::logical_not(Tensor self) -> Tensor",
     .infer = bool_as_self,
     .eval = eval::logical_not,
     .traits = kElementwise},
    {.schema = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     .infer = where,
     .eval = eval::where,
     .traits = kElementwise},
    {.schema = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     .infer = masked_fill,
     .eval = eval::masked_fill,
     .traits = kElementwise},
};

}  // namespace

std::span<const OpRow> comparison() { return kRows; }

}  // namespace slipway::ops

// Elementwise arithmetic and activations.
#include "ir/build.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

constexpr uint32_t kBinary = kElementwise | kCommutes;

std::vector<ValueType> cast(const Args& a) {
  return {{a.has(1) ? a.dtype(1) : a.type(0).dtype, a.type(0).shape}};
}

/// True division gives floating results for integers.
std::vector<ValueType> division(const Args& a) {
  return {
      {to_floating(promote(a.type(0), a.type(1))), broadcast(a.type(0).shape, a.type(1).shape)}};
}

const OpRow kRows[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .infer = binary,
     .eval = eval::add,
     .traits = kBinary},
    {.schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .infer = with_scalar,
     .eval = eval::add,
     .traits = kElementwise},
    {.schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .infer = binary,
     .eval = eval::sub,
     .traits = kElementwise},
    {.schema = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .infer = with_scalar,
     .eval = eval::sub,
     .traits = kElementwise},
    {.schema = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .infer = with_scalar,
     .eval = eval::rsub,
     .traits = kElementwise},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = binary,
     .eval = eval::mul,
     .traits = kBinary},
    {.schema = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = with_scalar,
     .eval = eval::mul,
     .traits = kElementwise},
    {.schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     .infer = division,
     .eval = eval::div,
     .traits = kElementwise},
    {.schema = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::div,
     .traits = kElementwise},
    {.schema = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .infer = with_scalar,
     .eval = eval::pow,
     .traits = kElementwise},
    {.schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .infer = binary,
     .eval = eval::pow,
     .traits = kElementwise},
    {.schema = "aten::minimum(Tensor self, Tensor other) -> Tensor",
     .infer = binary,
     .eval = eval::minimum,
     .traits = kBinary},
    {.schema = "aten::maximum(Tensor self, Tensor other) -> Tensor",
     .infer = binary,
     .eval = eval::maximum,
     .traits = kBinary},
    {.schema = "aten::neg(Tensor self) -> Tensor",
     .infer = same_as_self,
     .eval = eval::neg,
     .traits = kElementwise},
    {.schema = "aten::abs(Tensor self) -> Tensor",
     .infer = same_as_self,
     .eval = eval::abs,
     .traits = kElementwise},
    {.schema = "aten::exp(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::exp,
     .traits = kElementwise},
    {.schema = "aten::log(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::log,
     .traits = kElementwise},
    {.schema = "aten::sqrt(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::sqrt,
     .traits = kElementwise},
    {.schema = "aten::rsqrt(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::rsqrt,
     .traits = kElementwise},
    {.schema = "aten::reciprocal(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::reciprocal,
     .traits = kElementwise},
    {.schema = "aten::sin(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::sin,
     .traits = kElementwise},
    {.schema = "aten::cos(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::cos,
     .traits = kElementwise},
    {.schema = "aten::tanh(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::tanh,
     .traits = kElementwise},
    {.schema = "aten::erf(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::erf,
     .traits = kElementwise},
    {.schema = "aten::sigmoid(Tensor self) -> Tensor",
     .infer = floating_as_self,
     .eval = eval::sigmoid,
     .traits = kElementwise},
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .infer = same_as_self,
     .eval = eval::relu,
     .traits = kElementwise},
    {.schema = "aten::silu(Tensor self) -> Tensor",
     .infer = same_as_self,
     .eval = eval::silu,
     .body = [](const Args& a) -> std::vector<Value> { return {a.value(0) * sigmoid(a.value(0))}; },
     .traits = kElementwise},
    // approximate="none": x/2 * (1 + erf(x/sqrt 2)); "tanh": x/2 * (1 + tanh(sqrt(2/pi)(x +
    // 0.044715 x^3))).
    {.schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
     .infer = same_as_self,
     .eval = eval::gelu,
     .body = [](const Args& a) -> std::vector<Value> {
       const Value x = a.value(0);
       if (a.text(1) == "tanh")
         return {x * 0.5 * (tanh((x + pow(x, 3.0) * 0.044715) * 0.7978845608028654) + 1.0)};
       return {x * 0.5 * (erf(x * 0.7071067811865476) + 1.0)};
     },
     .traits = kElementwise},
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
               "MemoryFormat? memory_format=None) -> Tensor",
     .infer = cast,
     .eval = eval::cast,
     .traits = kElementwise},
};

}  // namespace

std::span<const OpRow> pointwise() { return kRows; }

}  // namespace slipway::ops

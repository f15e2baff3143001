// Matrix products.
#include "ir/build.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

void require_same_dtype(const Args& a, size_t i) {
  if (a.has(i) && a.type(i).dtype != a.type(0).dtype)
    a.fail("both sides must have one dtype, got " + to_string(a.type(0)) + " and " +
           to_string(a.type(i)));
}

std::vector<ValueType> matmul(const Args& a) {
  require_same_dtype(a, 1);
  return {{a.type(0).dtype, matmul_shape(a, a.type(0).shape, a.type(1).shape)}};
}

std::vector<ValueType> linear(const Args& a) {
  require_same_dtype(a, 1);
  require_same_dtype(a, 2);
  const SymShape& weight = a.type(1).shape;
  if (weight.size() != 2 || a.type(0).shape.empty()) a.fail("the weight must be a matrix");
  ValueType out = a.type(0);
  require_equal(a, out.shape.back(), weight[1], "the input's last size");
  out.shape.back() = weight[0];
  if (a.has(2)) {
    if (a.type(2).shape.size() != 1) a.fail("the bias must have one dimension");
    require_equal(a, a.type(2).shape[0], weight[0], "the bias's size");
  }
  return {out};
}

const OpRow kRows[] = {
    {.schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
     .infer = matmul,
     .eval = eval::matmul},
    {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .infer = linear,
     .eval = eval::linear,
     .body = [](const Args& a) -> std::vector<Value> {
       const Value product = slipway::matmul(a.value(0), transpose(a.value(1), 0, 1));
       return {a.has(2) ? product + a.value(2) : product};
     }},
};

}  // namespace

std::span<const OpRow> linear_algebra() { return kRows; }

}  // namespace slipway::ops

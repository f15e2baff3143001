// Sums, means, extrema, running sums and softmax.
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

SymShape over_dims(const Args& a) {
  return reduced(a.type(0).shape, a.axes(1, static_cast<int64_t>(a.type(0).shape.size())),
                 a.flag(2));
}

DType wanted(const Args& a, size_t i, DType otherwise) { return a.has(i) ? a.dtype(i) : otherwise; }

DType summed(DType d) { return is_floating(d) ? d : DType::kI64; }

std::vector<ValueType> mean(const Args& a) {
  const DType dtype = wanted(a, 3, a.type(0).dtype);
  if (!is_floating(dtype)) a.fail("the mean of integers needs a floating dtype");
  return {{dtype, over_dims(a)}};
}

std::vector<ValueType> sum(const Args& a) {
  return {{wanted(a, 3, summed(a.type(0).dtype)), over_dims(a)}};
}

std::vector<ValueType> extremum(const Args& a) { return {{a.type(0).dtype, over_dims(a)}}; }

std::vector<ValueType> running(const Args& a) {
  a.axis(1, static_cast<int64_t>(a.type(0).shape.size()));
  return {{wanted(a, 2, summed(a.type(0).dtype)), a.type(0).shape}};
}

std::vector<ValueType> softmax(const Args& a) {
  a.axis(1, static_cast<int64_t>(a.type(0).shape.size()));
  return {{wanted(a, 2, to_floating(a.type(0).dtype)), a.type(0).shape}};
}

std::vector<ValueType> product(const Args& a) {
  const int64_t axis = a.axis(1, static_cast<int64_t>(a.type(0).shape.size()));
  return {{wanted(a, 3, summed(a.type(0).dtype)), reduced(a.type(0).shape, {axis}, a.flag(2))}};
}

const OpRow kRows[] = {
    {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .infer = mean,
     .eval = eval::mean},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .infer = sum,
     .eval = eval::sum},
    {.schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .infer = extremum,
     .eval = eval::amax},
    {.schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .infer = extremum,
     .eval = eval::amin},
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .infer = running,
     .eval = eval::cumsum},
    {.schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = softmax,
     .eval = eval::softmax},
    {.schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = softmax,
     .eval = eval::log_softmax},
    {.schema = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .infer = product,
     .eval = eval::prod},
};

}  // namespace

std::span<const OpRow> reduction() { return kRows; }

}  // namespace slipway::ops

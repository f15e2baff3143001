// Lookups by index.
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

void require_indices(const Args& a, size_t i) {
  const DType d = a.type(i).dtype;
  if (d != DType::kI64 && d != DType::kI32) a.fail("indices must be int64 or int32");
}

std::vector<ValueType> embedding(const Args& a) {
  if (a.type(0).shape.size() != 2) a.fail("the table must be a matrix");
  require_indices(a, 1);
  ValueType out{a.type(0).dtype, a.type(1).shape};
  out.shape.push_back(a.type(0).shape[1]);
  return {out};
}

std::vector<ValueType> index_select(const Args& a) {
  require_indices(a, 2);
  ValueType out = a.type(0);
  if (a.type(2).shape.size() != 1) a.fail("the index must have one dimension");
  out.shape[static_cast<size_t>(a.axis(1, static_cast<int64_t>(out.shape.size())))] =
      a.type(2).shape[0];
  return {out};
}

std::vector<ValueType> gather(const Args& a) {
  require_indices(a, 2);
  if (a.type(2).shape.size() != a.type(0).shape.size()) a.fail("self and index differ in rank");
  return {{a.type(0).dtype, a.type(2).shape}};
}

std::vector<ValueType> index_copy(const Args& a) {
  require_indices(a, 2);
  const ValueType self = a.type(0), source = a.type(3);
  const auto axis = static_cast<size_t>(a.axis(1, static_cast<int64_t>(self.shape.size())));
  if (a.type(2).shape.size() != 1) a.fail("the index must have one dimension");
  if (source.dtype != self.dtype) a.fail("self and source differ in dtype");
  SymShape wanted = self.shape;
  wanted[axis] = a.type(2).shape[0];
  if (source.shape != wanted)
    a.fail("source has shape " + shape_string(source.shape) + ", need " + shape_string(wanted));
  return {self};
}

const OpRow kRows[] = {
    {.schema = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
               "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     .infer = embedding,
     .eval = eval::embedding},
    {.schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .infer = index_select,
     .eval = eval::index_select},
    {.schema =
         "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     .infer = gather,
     .eval = eval::gather},
    {.schema = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     .infer = index_copy,
     .eval = eval::index_copy},
};

}  // namespace

std::span<const OpRow> indexing() { return kRows; }

}  // namespace slipway::ops

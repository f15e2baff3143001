// Lookups and writes by several indices, and elements scattered along an axis.
#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/index_plan.h"

namespace slipway::ops {
namespace {

void require_indices(const Args& a, size_t i) {
  const DType d = a.type(i).dtype;
  if (d != DType::kI64 && d != DType::kI32) a.fail("indices must be int64 or int32");
}

std::vector<ValueType> index(const Args& a) { return {{a.type(0).dtype, index_plan(a).result}}; }

std::vector<ValueType> index_put(const Args& a) {
  const SymShape result = index_plan(a).result;
  if (a.type(2).dtype != a.type(0).dtype) a.fail("self and values differ in dtype");
  if (broadcast(a.type(2).shape, result) != result)
    a.fail("values of shape " + shape_string(a.type(2).shape) + " do not fill " +
           shape_string(result));
  return {a.type(0)};
}

/// The index may be smaller than self along every axis but the scattered one, and no larger than
/// the source along any.
std::vector<ValueType> scatter(const Args& a) {
  require_indices(a, 2);
  const SymShape &self = a.type(0).shape, &at = a.type(2).shape;
  const int64_t axis = a.axis(1, rank_of(a));
  if (at.size() != self.size()) a.fail("self and index differ in rank");
  const bool tensor = std::holds_alternative<Value>(a[3]);
  if (tensor && a.type(3).shape.size() != self.size()) a.fail("self and src differ in rank");
  if (tensor && a.type(3).dtype != a.type(0).dtype) a.fail("self and src differ in dtype");
  for (size_t i = 0; i < at.size(); ++i) {
    const bool free = static_cast<int64_t>(i) == axis;
    if ((!free && known_le(self[i] + 1, at[i])) ||
        (tensor && known_le(a.type(3).shape[i] + 1, at[i])))
      a.fail("the index " + shape_string(at) + " is larger than what it writes or reads");
  }
  return {a.type(0)};
}

/// The same with a word for what becomes of elements that meet.
std::vector<ValueType> scatter_reduce(const Args& a) {
  const std::string& how = a.text(4);
  if (how == "mean")
    throw Error(kUnsupported,
                "[ir] aten::scatter_reduce.two: got reduce=\"mean\", need sum, prod, "
                "amax or amin");
  if (how != "sum" && how != "prod" && how != "amax" && how != "amin")
    a.fail("reduce must be sum, prod, amax or amin");
  if (a.type(0).dtype == DType::kBool) a.fail("needs numbers");
  return scatter(a);
}

/// index_add along one axis: every row of source is added to the row that the index names.
Values index_add(const Args& a) {
  const Value self = a.value(0), source = a.value(3);
  const int64_t axis = a.axis(1, rank_of(a));
  require_indices(a, 2);
  std::vector<Value> indices(static_cast<size_t>(axis) + 1);
  indices.back() = a.value(2);
  const Value added = a.number(4) == 1.0 ? source : emit(a, "aten::mul.Scalar", source, a[4]);
  return {emit(a, "aten::index_put", self, indices, added, true)};
}

const OpRow kRows[] = {
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index, eval::index},
    // Without accumulate, of equal indices any one wins.
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     index_put, eval::index_put},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", scatter,
     eval::scatter},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter,
     eval::scatter},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter,
     eval::scatter_add},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True) -> Tensor",
     scatter_reduce, eval::scatter_reduce},
    spelling("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "
             "Scalar alpha=1) -> Tensor",
             index_add),
};

}  // namespace

std::span<const OpRow> scatter_and_index() { return kRows; }

}  // namespace slipway::ops

// Where values lie in sorted ones, which values are among others, and running products.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// How many elements of the last axis of `sorted` lie before each of `values`, whose last axis is
/// of its own size: those that are smaller, and with `right` those that are equal. NaN counts as
/// the largest, as in PyTorch.
Value places(const Args& a, Value sorted, Value values, bool right, bool narrow) {
  const Value behind =
      compare(right ? "aten::gt.Tensor" : "aten::ge.Tensor", sorted, unsqueeze(values, -1));
  const Value before = to(emit(a, "aten::logical_not", behind), DType::kI64);
  const Value count = emit(a, "aten::sum.dim_IntList", before, std::vector<Sym>{-1});
  return to(count, narrow ? DType::kI32 : DType::kI64);
}

Values bucketize(const Args& a) {
  if (a.value(1).rank() != 1) a.fail("the boundaries must be a vector");
  return {places(a, a.value(1), a.value(0), a.flag(3), a.flag(2))};
}

/// A sequence with axes in front has a row for each row of the values.
Values searchsorted(const Args& a) {
  Value sorted = a.value(0);
  if (a.has(5)) sorted = emit(a, "aten::gather", sorted, Sym(-1), a.value(5));
  bool right = a.flag(3);
  if (a.has(4)) {
    if (a.text(4) != "left" && a.text(4) != "right") a.fail("side must be 'left' or 'right'");
    if (right && a.text(4) == "left") a.fail("right=True and side='left' contradict each other");
    right = a.text(4) == "right";
  }
  if (sorted.rank() == 0) a.fail("needs a sequence");
  if (sorted.rank() > 1) {
    if (sorted.rank() != a.value(1).rank()) a.fail("the sequence and the values differ in rank");
    for (int64_t i = 0; i + 1 < sorted.rank(); ++i)
      require_equal(a, a.value(1).dim(i), sorted.dim(i), "a leading size of the values");
    sorted = unsqueeze(sorted, -2);
  }
  return {places(a, sorted, a.value(1), right, a.flag(2))};
}

/// Argument 3 asks for those that are not among the others.
Values among(const Args& a, Value found) {
  return {a.flag(3) ? emit(a, "aten::logical_not", found) : found};
}

Values isin(const Args& a) {
  const Value others = view(a.value(1), {numel(a.type(1).shape)});
  const Value equal = compare("aten::eq.Tensor", unsqueeze(a.value(0), -1), others);
  return among(a, emit(a, "aten::any.dim", equal, Sym(-1)));
}

/// The product of all elements up to each. A fixed number of them doubles the reach of every
/// product step by step; else each takes the product of a row in which later ones are 1.
Values cumprod(const Args& a) {
  Value x = a.value(0);
  if (a.has(2)) x = to(x, a.dtype(2));
  else if (!x.is_floating()) x = to(x, DType::kI64);
  if (x.rank() == 0) return {x};
  const int64_t axis = a.axis(1, x.rank());
  const Sym size = x.dim(axis);
  if (size.is_const()) {
    for (int64_t reach = 1; reach < size.value(); reach *= 2) {
      const Value kept = slice(x, axis, 0, Sym(reach));
      const Value grown = slice(x, axis, Sym(reach), size) * slice(x, axis, 0, size - reach);
      x = cat({kept, grown}, axis);
    }
    return {x};
  }
  const Value rows = unsqueeze(transpose(x, axis, -1), -2);  // [..., 1, size]
  const Value place = arange(a.graph(), 0, size);
  const Value reached = less_equal(place, unsqueeze(place, 1));
  const Value one = number(a, 1.0, x.dtype());
  const Value product = emit(a, "aten::prod.dim_int", where(reached, rows, one), Sym(-1), false,
                             named("dtype", OpArg(x.dtype())));
  return {transpose(product, axis, -1)};
}

const OpRow kRows[] = {
    written("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, "
            "bool right=False) -> Tensor",
            bucketize),
    written("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, "
            "bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
            "Tensor",
            searchsorted),
    written("aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, "
            "bool assume_unique=False, bool invert=False) -> Tensor",
            isin),
    written("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, "
            "bool assume_unique=False, bool invert=False) -> Tensor",
            [](const Args& a) -> Values {
              return among(a, compare("aten::eq.Scalar", a.value(0), OpArg(a[1])));
            }),
    written("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumprod),
    spelling("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
             [](const Args& a) -> Values {
               const Value line = view(a.value(0), {numel(a.type(0).shape)});
               return {
                   emit(a, "aten::prod.dim_int", line, Sym(0), false, named("dtype", OpArg(a[1])))};
             }),
    spelling("aten::_is_all_true(Tensor self) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::all", a.value(0))}; }),
    spelling("aten::_is_any_true(Tensor self) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::any", a.value(0))}; }),
};

}  // namespace

std::span<const OpRow> searching() { return kRows; }

}  // namespace slipway::ops

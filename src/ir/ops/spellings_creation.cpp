// Spellings: copies, casts and fills.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

Values same(const Args& a) { return {a.value(0)}; }

/// Argument `i` is the wanted dtype or None.
template <size_t i>
Values converted(const Args& a) {
  return {a.has(i) ? to(a.value(0), a.dtype(i)) : a.value(0)};
}

Values like_other(const Args& a) { return {to(a.value(0), a.type(1).dtype)}; }

Values dropout(const Args& a) {
  if (a.flag(2))
    throw Error(kUnsupported, "[ir] " + a.op().name() +
                                  ": got train=true, need false: graphs are "
                                  "for inference");
  return {a.value(0)};
}

/// A fill with a number of the wanted dtype, which is argument `dtype` or `otherwise`.
Values filled(const Args& a, SymShape shape, const Arg& value, size_t dtype, DType otherwise) {
  return {emit(a, "aten::full", shape, value,
               named("dtype", a.has(dtype) ? a.dtype(dtype) : otherwise))};
}

template <int value>
Values new_filled(const Args& a) {
  return filled(a, a.syms(1), Sym(value), 2, a.type(0).dtype);
}

template <int value>
Values filled_like(const Args& a) {
  return filled(a, a.type(0).shape, Sym(value), 1, a.type(0).dtype);
}

template <int value>
Values fill(const Args& a) {
  return filled(a, a.syms(0), Sym(value), 1, DType::kF32);
}

/// The dtype of a number that nothing else decides.
DType of_number(const Arg& number) {
  if (std::holds_alternative<bool>(number)) return DType::kBool;
  return std::holds_alternative<Sym>(number) ? DType::kI64 : DType::kF32;
}

Values eye(const Args& a, Sym rows, Sym columns, size_t dtype) {
  const Value row = unsqueeze(arange(a.graph(), 0, rows), 1);
  const Value ones = compare("aten::eq.Tensor", row, arange(a.graph(), 0, columns));
  return {to(ones, a.has(dtype) ? a.dtype(dtype) : DType::kF32)};
}

/// `source` in the shape and dtype of the first argument.
Value spread(const Args& a, Value source) {
  const Value x = to(source, a.type(0).dtype);
  return x.shape() == a.type(0).shape ? x : expand(x, a.type(0).shape);
}

const OpRow kRows[] = {
    spelling("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> "
             "Tensor(a)",
             same),
    spelling("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", same),
    spelling("aten::detach(Tensor(a) self) -> Tensor(a)", same),
    spelling("aten::alias(Tensor(a) self) -> Tensor(a)", same),
    spelling("aten::lift_fresh_copy(Tensor self) -> Tensor", same),
    spelling("aten::dropout(Tensor input, float p, bool train) -> Tensor", dropout),
    spelling("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout),
    spelling("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout),
    spelling("aten::to.device(Tensor(a) self, Device device, ScalarType dtype, "
             "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
             "Tensor(a)",
             converted<2>),
    spelling("aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, "
             "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
             converted<1>),
    spelling("aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
             "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
             "Tensor(a)",
             converted<1>),
    spelling("aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, "
             "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
             like_other),
    spelling("aten::type_as(Tensor self, Tensor other) -> Tensor", like_other),
    spelling("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
             [](const Args& a) -> Values { return {spread(a, a.value(1))}; }),
    spelling("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
             [](const Args& a) -> Values {
               return {
                   emit(a, "aten::full", a.type(0).shape, a[1], named("dtype", a.type(0).dtype))};
             }),
    spelling("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
             [](const Args& a) -> Values { return {spread(a, a.value(1))}; }),
    spelling("aten::zero(Tensor self) -> Tensor",
             [](const Args& a) -> Values {
               return {
                   emit(a, "aten::full", a.type(0).shape, Sym(0), named("dtype", a.type(0).dtype))};
             }),
    spelling("aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
             new_filled<1>),
    // What an empty tensor holds is unspecified: zeros here.
    spelling("aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
             new_filled<0>),
    spelling("aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
             new_filled<0>),
    spelling(
        "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, "
        "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
        [](const Args& a) -> Values { return filled(a, a.syms(1), a[2], 3, a.type(0).dtype); }),
    spelling("aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             fill<1>),
    spelling("aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             fill<0>),
    spelling("aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
             "MemoryFormat? memory_format=None) -> Tensor",
             fill<0>),
    spelling("aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
             "Tensor",
             filled_like<1>),
    spelling("aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
             "Tensor",
             filled_like<0>),
    spelling("aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
             "Tensor",
             filled_like<0>),
    spelling("aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
             "MemoryFormat? memory_format=None) -> Tensor",
             [](const Args& a) -> Values {
               return filled(a, a.type(0).shape, a[1], 2, a.type(0).dtype);
             }),
    spelling("aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             [](const Args& a) -> Values { return filled(a, {}, a[0], 1, DType::kF32); }),
    spelling("aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::arange.start_step", Sym(0), a[0],
                            named("dtype", a.has(1) ? a.dtype(1) : of_number(a[0])))};
             }),
    spelling("aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, "
             "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
             [](const Args& a) -> Values {
               return {emit(a, "aten::arange.start_step", a[0], a[1], Sym(1),
                            named("dtype", OpArg(a[2])))};
             }),
    spelling("aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             [](const Args& a) -> Values { return eye(a, a.sym(0), a.sym(0), 1); }),
    spelling("aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, "
             "Device? device=None, bool? pin_memory=None) -> Tensor",
             [](const Args& a) -> Values { return eye(a, a.sym(0), a.sym(1), 2); }),
};

}  // namespace

std::span<const OpRow> spellings_creation() { return kRows; }

}  // namespace slipway::ops

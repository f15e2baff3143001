// Lowering rows: slicing, stretching, creation, lookups, rows written.
#include "backends/executorch/lower.h"

namespace slipway::executorch {
namespace {

Value expand(Lower& l) { return l.expand(l.in(0), l.out().shape); }

Value slice(Lower& l) {
  const Value x = l.in(0);
  const int64_t axis = l.args().axis(1, x.rank());
  const Sym start = l.has(2) ? l.args().sym(2) : Sym(0);
  const Sym end = l.has(3) ? l.args().sym(3) : x.dim(axis);
  return l.slice(x, axis, start, end, l.args().integer(4), l.out());
}

/// Among the index's forms a number is the usual one.
Value select(Lower& l) {
  const Value x = l.in(0);
  const int64_t axis = l.args().axis(1, x.rank());
  const auto* index = std::get_if<Sym>(&l.args()[2]);
  if (index != nullptr && index->is_const() && axis == 0 && x.dim(0).is_const()) {
    const int64_t place = index->value() < 0 ? index->value() + x.dim(0).value() : index->value();
    if (const Value stored = l.entry(x, place); stored.defined()) return stored;
  }
  if (index != nullptr) return l.typed("et::select_copy.int_out", {x, axis, *index}, l.out());
  return l.gather(x, l.in(2, DType::kI64), axis);
}

Value full(Lower& l) {
  const DType d = l.out().dtype;
  if (l.out().shape.empty()) return l.operand(1, d);
  if (std::holds_alternative<Value>(l.args()[1])) return l.expand(l.in(1, d), l.out().shape);
  return l.typed("et::full.out", {l.out().shape, l.args()[1]}, l.out());
}

Value arange(Lower& l) {
  return l.typed("et::arange.start_out", {l.args()[0], l.args()[1], l.args()[2]}, l.out());
}

Value gather(Lower& l) {
  const int64_t axis = l.args().axis(1, l.in(0).rank());
  return l.typed("et::gather.out", {l.in(0), axis, l.in(2)}, l.out());
}

/// Whole rows along an axis are a write at an index of which the axes before are all. The kernel
/// of index_put takes that, and can write in place.
Value index_copy(Lower& l) {
  const Value self = l.in(0);
  std::vector<Value> indices(static_cast<size_t>(l.args().axis(1, self.rank())));
  indices.push_back(l.in(2));
  return l("et::index_put.out", {self, indices, l.in(3)});
}

/// How many is read while the program runs: emit() makes the slice's start of the count.
Value keep_last(Lower& l) { return l.typed("et::slice_last", {l.in(0), 1, l.in(1)}, l.out()); }

const LoweringRow kRows[] = {
    {"aten::expand", expand},
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
    {"aten::full", full},
    {"aten::arange.start_step", arange},
    {"aten::gather", gather},
    {"aten::index_copy", index_copy},
    {"slipway::keep_last", keep_last},
};

}  // namespace

std::span<const LoweringRow> shape_rows() { return kRows; }

}  // namespace slipway::executorch

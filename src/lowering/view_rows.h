// Lowering rows over the notation that every target has: reshape(), permute(), unsqueeze(),
// squeeze(), expand(), concat(), gather().
#pragma once

#include <numeric>

#include "lowering/rows.h"

namespace slipway::lowering {

template <class L>
struct ViewRows {
  static Value view(L& l) { return l.reshape(l.in(0), l.out().shape); }

  static Value permute(L& l) {
    const int64_t rank = l.in(0).rank();
    std::vector<int64_t> axes;
    for (const int64_t a : l.args().integers(1)) axes.push_back(normalize_axis(a, rank));
    return l.permute(l.in(0), axes);
  }

  static Value transpose(L& l) {
    const int64_t rank = l.in(0).rank();
    if (rank == 0) return l.in(0);
    std::vector<int64_t> axes(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[static_cast<size_t>(l.args().axis(1, rank))],
              axes[static_cast<size_t>(l.args().axis(2, rank))]);
    return l.permute(l.in(0), axes);
  }

  static Value matrix_transpose(L& l) {
    return l.in(0).rank() < 2 ? l.in(0) : l.permute(l.in(0), {1, 0});
  }

  static Value unsqueeze(L& l) {
    return l.unsqueeze(l.in(0), normalize_axis(l.args().integer(1), l.in(0).rank() + 1));
  }

  static Value squeeze(L& l) {
    if (l.in(0).type() == l.out()) return l.in(0);
    return l.squeeze(l.in(0), l.args().axis(1, l.in(0).rank()));
  }

  /// Empty vectors among tensors of another rank are left out.
  static Value cat(L& l) {
    std::vector<Value> parts;
    for (const Value part : l.ins(0))
      if (part.rank() == static_cast<int64_t>(l.out().shape.size()))
        parts.push_back(l.cast(part, l.out().dtype));
    return l.concat(parts, l.args().axis(1, parts[0].rank()));
  }

  static Value embedding(L& l) { return l.gather(l.in(0), l.in(1), 0); }

  static Value index_select(L& l) {
    return l.gather(l.in(0), l.in(2), l.args().axis(1, l.in(0).rank()));
  }

  static constexpr Row<L> kRows[] = {
      {"aten::view", view},           {"aten::reshape", view},
      {"aten::permute", permute},     {"aten::transpose.int", transpose},
      {"aten::t", matrix_transpose},  {"aten::unsqueeze", unsqueeze},
      {"aten::squeeze.dim", squeeze}, {"aten::cat", cat},
      {"aten::embedding", embedding}, {"aten::index_select", index_select},
  };
};

/// The same for targets whose sizes are tensors.
template <class L>
struct SizedRows {
  static Value select(L& l) {
    return l.gather(l.in(0), l.operand(2, DType::kI64), l.args().axis(1, l.in(0).rank()));
  }

  static Value full(L& l) { return l.expand(l.operand(1, l.out().dtype), l.out().shape); }

  /// With cut(x, axis, start, end, step, type): elements of an axis between two int64 [1].
  static Value slice(L& l) {
    const Value x = l.in(0);
    const int64_t axis = l.args().axis(1, x.rank());
    const Sym size = x.dim(axis);
    const Sym start = l.has(2) ? l.args().sym(2) : Sym(0);
    const Sym end = l.has(3) ? l.args().sym(3) : size;
    const int64_t step = l.args().integer(4);
    const bool to_end = end == size || (end.is_const() && end.value() == Sym::kUnbounded);
    if (start.is_const(0) && to_end && step == 1) return x;
    const Value last = to_end ? l.ints({Sym::kUnbounded}) : l.size(end);
    return l.cut(x, axis, l.size(start), last, step, l.out());
  }

  static constexpr Row<L> kRows[] = {
      {"aten::select.int", select},
      {"aten::full", full},
      {"aten::slice.Tensor", slice},
  };
};

/// What scattering (self, axis, index, source or number) writes: the part of the source that the
/// index reads, by corner(x, shape), the first elements along every axis.
template <class L>
Value scatter_updates(L& l) {
  const SymShape& wanted = l.in(2).shape();
  if (!std::holds_alternative<Value>(l.args()[3]))
    return l.expand(l.operand(3, l.out().dtype), wanted);
  return l.corner(l.in(3), wanted);
}

}  // namespace slipway::lowering

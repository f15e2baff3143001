// Lowering functions of convolutions and poolings that no target changes.
#pragma once

#include "ir/ops/window.h"
#include "lowering/rows.h"

namespace slipway::lowering {

inline std::vector<Sym> syms(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

/// Runs f(x, type) on argument 0 with a batch axis in front, added and taken away where there is
/// none.
template <class L, class F>
Value with_batch(L& l, const ops::Window& window, F f) {
  const Value x = l.in(0);
  if (static_cast<size_t>(x.rank()) == window.axes() + 2) return f(x, l.out());
  SymShape out = l.out().shape;
  out.insert(out.begin(), 1);
  return l.squeeze(f(l.unsqueeze(x, 0), ValueType{x.dtype(), out}), 0);
}

}  // namespace slipway::lowering

// Lowering functions of element-wise ops, by the names that a target has for them.
#pragma once

#include "lowering/rows.h"

namespace slipway::lowering {

/// The dtype that both sides of a comparison are brought to; argument 1 is a tensor or a number.
DType comparison_dtype(const Args& args);

/// For targets that convert nothing by themselves. Template arguments are names of target ops.
template <class L>
struct Elementwise {
  template <const char* kOp>
  static Value unary(L& l) {
    return l(kOp, {l.in(0, l.out().dtype)});
  }

  /// On bool, sums are "or" and products "and".
  template <const char* kOp, const char* kLogic = nullptr>
  static Value binary(L& l) {
    const DType d = l.out().dtype;
    if constexpr (kLogic != nullptr)
      if (d == DType::kBool) return l(kLogic, {l.in(0), l.operand(1, d)});
    return l(kOp, {l.in(0, d), l.operand(1, d)});
  }

  template <const char* kOp>
  static Value logical(L& l) {
    return l(kOp, {l.in(0, DType::kBool), l.in(1, DType::kBool)});
  }

  /// a + alpha b.
  template <const char* kAdd, const char* kMul, const char* kLogic = nullptr>
  static Value sum(L& l) {
    const DType d = l.out().dtype;
    if constexpr (kLogic != nullptr)
      if (d == DType::kBool) return l(kLogic, {l.in(0), l.operand(1, d)});
    return l(kAdd, {l.in(0, d), times<kMul>(l, l.operand(1, d), l.args().number(2))});
  }

  /// b - alpha a.
  template <const char* kSub, const char* kMul>
  static Value reversed_difference(L& l) {
    const DType d = l.out().dtype;
    const Value x = times<kMul>(l, l.in(0, d), l.args().number(2));
    return l(kSub, {l.operand(1, d), x});
  }

  /// Integers are whole already.
  template <const char* kOp>
  static Value rounded(L& l) {
    return l.in(0).is_floating() ? l(kOp, {l.in(0)}) : l.in(0);
  }

  /// Towards zero.
  template <const char* kMul, const char* kSign, const char* kFloor, const char* kAbs>
  static Value truncated(L& l, Value x) {
    return l(kMul, {l(kSign, {x}), l(kFloor, {l(kAbs, {x})})});
  }

  template <const char* kMin, const char* kMax>
  static Value clamp(L& l) {
    const DType d = l.out().dtype;
    Value x = l.in(0, d);
    if (l.has(1)) x = l(kMax, {x, l.operand(1, d)});
    if (l.has(2)) x = l(kMin, {x, l.operand(2, d)});
    return x;
  }

 private:
  template <const char* kMul>
  static Value times(L& l, Value x, double factor) {
    return factor == 1.0 ? x : l(kMul, {x, l.scalar(factor, x.dtype())});
  }
};

}  // namespace slipway::lowering

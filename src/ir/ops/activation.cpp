// Activations written in simpler ops.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

constexpr uint32_t kEach = kElementwise;

Value clamped(const Args& a, Value x, const Arg& low, const Arg& high) {
  return emit(a, "aten::clamp", x, low, high);
}
Value positive(Value x) { return compare("aten::gt.Scalar", x, 0.0); }

/// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
Values softplus(const Args& a) {
  const Value x = a.value(0);
  const Value scaled = a.number(1) == 1.0 ? x : emit(a, "aten::mul.Scalar", x, a[1]);
  Value soft = emit(a, "aten::log1p", exp(scaled));
  if (a.number(1) != 1.0) soft = emit(a, "aten::div.Scalar", soft, a[1]);
  return {where(compare("aten::gt.Scalar", scaled, OpArg(a[2])), x, soft)};
}

/// max(x, 0) + log(1 + exp(-|x|)): no exponential overflows.
Value soft_plus(const Args& a, Value x) {
  return relu(x) + emit(a, "aten::log1p", exp(neg(emit(a, "aten::abs", x))));
}

/// scale x above 0, scale alpha (exp(input_scale x) - 1) below.
Values exponential(const Args& a, double alpha, double scale, double input_scale) {
  const Value x = a.value(0);
  const Value low = emit(a, "aten::expm1", x * input_scale) * (alpha * scale);
  return {where(positive(x), scale == 1.0 ? x : x * scale, low)};
}

/// relu6(x + 3) / 6
Value hard_gate(const Args& a, Value x) { return clamped(a, x + 3.0, Sym(0), Sym(6)) / 6.0; }

Values glu(const Args& a) {
  const Value x = a.value(0);
  const int64_t axis = a.axis(1, rank_of(a));
  const Sym size = x.dim(axis), half = floordiv(size, 2);
  if (known_ne(half * 2, size)) a.fail("needs an even size, got " + size.str());
  return {slice(x, axis, 0, half) * sigmoid(slice(x, axis, half, half + half))};
}

/// One slope for all, or one for each channel of axis 1.
Values prelu(const Args& a) {
  const Value x = a.value(0);
  Value slope = a.value(1);
  if (slope.rank() == 1 && x.rank() > 1 && !slope.dim(0).is_const(1)) {
    SymShape shape(static_cast<size_t>(x.rank()), Sym(1));
    shape[1] = slope.dim(0);
    slope = view(slope, shape);
  }
  return {where(positive(x), x, x * slope)};
}

const OpRow kRows[] = {
    written("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", softplus,
            kEach),
    written(
        "aten::log_sigmoid(Tensor self) -> Tensor",
        [](const Args& a) -> Values { return {neg(soft_plus(a, neg(a.value(0))))}; }, kEach),
    written(
        "aten::mish(Tensor self) -> Tensor",
        [](const Args& a) -> Values { return {a.value(0) * tanh(soft_plus(a, a.value(0)))}; },
        kEach),
    written(
        "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        [](const Args& a) -> Values {
          const Value x = a.value(0);
          return {where(positive(x), x, emit(a, "aten::mul.Scalar", x, a[1]))};
        },
        kEach),
    written(
        "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> "
        "Tensor",
        [](const Args& a) -> Values {
          return exponential(a, a.number(1), a.number(2), a.number(3));
        },
        kEach),
    written(
        "aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor",
        [](const Args& a) -> Values { return exponential(a, a.number(1), 1.0, 1.0 / a.number(1)); },
        kEach),
    written(
        "aten::selu(Tensor self) -> Tensor",
        [](const Args& a) -> Values {
          return exponential(a, 1.6732632423543772, 1.0507009873554805, 1.0);
        },
        kEach),
    spelling("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
             [](const Args& a) -> Values { return {clamped(a, a.value(0), a[1], a[2])}; }),
    spelling("aten::relu6(Tensor self) -> Tensor",
             [](const Args& a) -> Values { return {clamped(a, a.value(0), Sym(0), Sym(6))}; }),
    written(
        "aten::hardsigmoid(Tensor self) -> Tensor",
        [](const Args& a) -> Values { return {hard_gate(a, a.value(0))}; }, kEach),
    written(
        "aten::hardswish(Tensor self) -> Tensor",
        [](const Args& a) -> Values { return {a.value(0) * hard_gate(a, a.value(0))}; }, kEach),
    written(
        "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
        [](const Args& a) -> Values {
          const Value x = a.value(0);
          return {where(compare("aten::gt.Scalar", x, OpArg(a[1])), x,
                        number(a, size_t{2}, x.dtype()))};
        },
        kEach),
    written("aten::glu(Tensor self, int dim=-1) -> Tensor", glu),
    written("aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu),
};

}  // namespace

std::span<const OpRow> activation() { return kRows; }

}  // namespace slipway::ops

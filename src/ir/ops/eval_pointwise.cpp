// Values of elementwise ops: arithmetic, activations, comparisons, selection.
#include <cmath>

#include "ir/ops/eval_util.h"
#include "ir/ops/infer.h"

namespace slipway::ops::eval {
namespace {

template <class F>
std::vector<Array> unary(const EvalArgs& a, F f) {
  return each(a, f);
}

template <class F>
std::vector<Array> binary(const EvalArgs& a, F f) {
  return combine_operands(a, f);
}

/// Both sides are converted to their common dtype first.
template <class F>
std::vector<Array> compare(const EvalArgs& a, F f) {
  Array x = a.array(0), y;
  if (std::holds_alternative<Value>(a.args()[1])) {
    y = a.array(1);
    x.dtype = promote(a.args().type(0), a.args().type(1));
  } else {
    y = Array{x.dtype, {}, {a.number(1)}};
    x.dtype = promote_scalar(x.dtype, a.args()[1]);
  }
  y.dtype = x.dtype;
  x.round();
  y.round();
  return combine(a, x, y, f);
}

double alpha(const EvalArgs& a) { return a.number(2); }

/// NaN wins, as in PyTorch.
double lesser(double x, double y) { return std::isnan(x) || x < y ? x : y; }
double greater(double x, double y) { return std::isnan(x) || x > y ? x : y; }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::vector<Array> add(const EvalArgs& a) {
  return binary(a, [k = alpha(a)](double x, double y) { return x + k * y; });
}
std::vector<Array> sub(const EvalArgs& a) {
  return binary(a, [k = alpha(a)](double x, double y) { return x - k * y; });
}
std::vector<Array> rsub(const EvalArgs& a) {
  return binary(a, [k = alpha(a)](double x, double y) { return y - k * x; });
}
std::vector<Array> mul(const EvalArgs& a) {
  return binary(a, [](double x, double y) { return x * y; });
}
std::vector<Array> div(const EvalArgs& a) {
  return binary(a, [](double x, double y) { return x / y; });
}
std::vector<Array> pow(const EvalArgs& a) {
  return binary(a, [](double x, double y) { return std::pow(x, y); });
}
std::vector<Array> minimum(const EvalArgs& a) { return binary(a, lesser); }
std::vector<Array> maximum(const EvalArgs& a) { return binary(a, greater); }

std::vector<Array> eq(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x == y; });
}
std::vector<Array> ne(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x != y; });
}
std::vector<Array> lt(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x < y; });
}
std::vector<Array> le(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x <= y; });
}
std::vector<Array> gt(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x > y; });
}
std::vector<Array> ge(const EvalArgs& a) {
  return compare(a, [](double x, double y) { return x >= y; });
}

std::vector<Array> logical_and(const EvalArgs& a) {
  return binary(a, [](double x, double y) { return x != 0 && y != 0; });
}
std::vector<Array> logical_or(const EvalArgs& a) {
  return binary(a, [](double x, double y) { return x != 0 || y != 0; });
}
std::vector<Array> logical_not(const EvalArgs& a) {
  return unary(a, [](double x) { return x == 0; });
}

std::vector<Array> where(const EvalArgs& a) {
  Array out = result(a);
  const auto at = broadcast_offsets(a, a.array(0).shape, out.shape);
  const auto at_x = broadcast_offsets(a, a.array(1).shape, out.shape);
  const auto at_y = broadcast_offsets(a, a.array(2).shape, out.shape);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = a.array(0).values[static_cast<size_t>(at[i])] != 0
                        ? a.array(1).values[static_cast<size_t>(at_x[i])]
                        : a.array(2).values[static_cast<size_t>(at_y[i])];
  return {std::move(out)};
}

std::vector<Array> masked_fill(const EvalArgs& a) {
  return combine(a, a.array(0), a.array(1),
                 [v = a.number(2)](double x, double mask) { return mask != 0 ? v : x; });
}

std::vector<Array> neg(const EvalArgs& a) {
  return unary(a, [](double x) { return -x; });
}
std::vector<Array> abs(const EvalArgs& a) {
  return unary(a, [](double x) { return std::fabs(x); });
}
std::vector<Array> exp(const EvalArgs& a) {
  return unary(a, [](double x) { return std::exp(x); });
}
std::vector<Array> log(const EvalArgs& a) {
  return unary(a, [](double x) { return std::log(x); });
}
std::vector<Array> sqrt(const EvalArgs& a) {
  return unary(a, [](double x) { return std::sqrt(x); });
}
std::vector<Array> rsqrt(const EvalArgs& a) {
  return unary(a, [](double x) { return 1 / std::sqrt(x); });
}
std::vector<Array> reciprocal(const EvalArgs& a) {
  return unary(a, [](double x) { return 1 / x; });
}
std::vector<Array> sin(const EvalArgs& a) {
  return unary(a, [](double x) { return std::sin(x); });
}
std::vector<Array> cos(const EvalArgs& a) {
  return unary(a, [](double x) { return std::cos(x); });
}
std::vector<Array> tanh(const EvalArgs& a) {
  return unary(a, [](double x) { return std::tanh(x); });
}
std::vector<Array> erf(const EvalArgs& a) {
  return unary(a, [](double x) { return std::erf(x); });
}
std::vector<Array> sigmoid(const EvalArgs& a) { return unary(a, logistic); }
std::vector<Array> relu(const EvalArgs& a) {
  return unary(a, [](double x) { return greater(x, 0); });
}
std::vector<Array> silu(const EvalArgs& a) {
  return unary(a, [](double x) { return x * logistic(x); });
}

std::vector<Array> gelu(const EvalArgs& a) {
  const std::string& approximate = a.args().text(1);
  if (approximate == "tanh")
    return unary(a, [](double x) {
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    });
  require(a, approximate == "none", "approximate to be 'none' or 'tanh'");
  return unary(a, [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); });
}

std::vector<Array> cast(const EvalArgs& a) {
  return unary(a, [](double x) { return x; });
}

}  // namespace slipway::ops::eval

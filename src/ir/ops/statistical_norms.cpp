// Normalization over groups of channels, by stored statistics, and of weights.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// A vector over the channels, in place for axis 1 of a tensor of this rank.
Value channels(Value vector, int64_t rank) {
  SymShape shape(static_cast<size_t>(rank), Sym(1));
  shape[1] = vector.dim(0);
  return view(vector, shape);
}

Value scaled(const Args& a, Value x, size_t weight, size_t bias) {
  if (a.has(weight)) x = x * channels(a.value(weight), x.rank());
  return a.has(bias) ? x + channels(a.value(bias), x.rank()) : x;
}

/// Every group of channels of a sample to mean 0 and variance 1 (Wu and He 2018).
Value by_group(const Args& a, Sym groups, double eps) {
  const Value x = a.value(0);
  if (x.rank() < 2) a.fail("needs [batch, channels, ...]");
  if (!groups.is_const() || groups.value() < 1 || known_ne(mod(x.dim(1), groups), 0))
    a.fail(x.dim(1).str() + " channels do not divide into " + groups.str() + " groups");
  Sym inside = floordiv(x.dim(1), groups);
  for (int64_t i = 2; i < x.rank(); ++i) inside = inside * x.dim(i);
  const Value lines = view(x, {x.dim(0), groups, inside});
  const Value centered = lines - mean(lines, {2}, true);
  const Value spread = rsqrt(mean(centered * centered, {2}, true) + eps);
  return view(centered * spread, x.shape());
}

Values batch_norm(const Args& a) {
  if (a.flag(5))
    throw Error(kUnsupported,
                "[ir] aten::batch_norm: got training=true, need false: graphs are "
                "for inference");
  const Value x = a.value(0);
  if (x.rank() < 2) a.fail("needs [batch, channels, ...]");
  if (!a.has(3) || !a.has(4)) a.fail("needs running_mean and running_var");
  const Value spread = rsqrt(a.value(4) + a.number(7));
  return {scaled(a, (x - channels(a.value(3), x.rank())) * channels(spread, x.rank()), 1, 2)};
}

Values instance_norm(const Args& a) {
  if (!a.flag(5))
    throw Error(kUnsupported, "[ir] aten::instance_norm: got use_input_stats=false, need true");
  return {scaled(a, by_group(a, a.value(0).dim(1), a.number(7)), 1, 2)};
}

/// Every slice along an axis to the length that g gives it (Salimans and Kingma 2016); with dim=-1
/// the whole tensor is one slice.
Values weight_norm(const Args& a) {
  const Value v = a.value(0);
  std::vector<Sym> others;
  const int64_t kept = a.integer(2) == -1 ? -1 : a.axis(2, v.rank());
  for (int64_t i = 0; i < v.rank(); ++i)
    if (i != kept) others.emplace_back(i);
  const Value length = emit(a, "aten::linalg_vector_norm", v, Sym(2), others, true);
  return {v * (a.value(1) / length)};
}

const OpRow kRows[] = {
    written("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
            "Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
            [](const Args& a) -> Values {
              return {scaled(a, by_group(a, a.sym(1), a.number(4)), 2, 3)};
            }),
    written("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
            "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> "
            "Tensor",
            batch_norm),
    written("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, "
            "Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
            "float eps, bool cudnn_enabled) -> Tensor",
            instance_norm),
    written("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", weight_norm),
};

}  // namespace

std::span<const OpRow> statistical_norms() { return kRows; }

}  // namespace slipway::ops

// Reductions written in simpler ones: any, all, norms, variances, histograms, triangles.
#include <cmath>

#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

std::vector<Sym> every_axis(const Args& a) {
  std::vector<Sym> axes;
  for (int64_t i = 0; i < rank_of(a); ++i) axes.emplace_back(i);
  return axes;
}

/// Argument i as axes: one integer, a list, or None or nothing for all.
std::vector<Sym> axes_of(const Args& a, size_t i) {
  if (i >= a.size() || !a.has(i)) return every_axis(a);
  if (std::holds_alternative<Sym>(a[i])) return {a.sym(i)};
  return a.syms(i).empty() ? every_axis(a) : a.syms(i);
}
bool keeps(const Args& a, size_t i) { return i < a.size() && a.flag(i); }

Value summed(const Args& a, Value x, const std::vector<Sym>& axes, bool keep) {
  if (axes.empty()) return x;
  return emit(a, "aten::sum.dim_IntList", x, axes, keep);
}

/// Counts what is not zero, so that an empty tensor has none.
Values any(const Args& a) {
  const Value hits = to(to(a.value(0), DType::kBool), DType::kI64);
  return {compare("aten::gt.Scalar", summed(a, hits, axes_of(a, 1), keeps(a, 2)), Sym(0))};
}

Values all(const Args& a) {
  const Value misses = to(emit(a, "aten::logical_not", a.value(0)), DType::kI64);
  return {compare("aten::eq.Scalar", summed(a, misses, axes_of(a, 1), keeps(a, 2)), Sym(0))};
}

/// log(sum(exp(x))) with the largest element taken out, unless it is infinite.
Values logsumexp(const Args& a) {
  const std::vector<Sym> axes = axes_of(a, 1);
  const Value x = to(a.value(0), to_floating(a.type(0).dtype));
  if (axes.empty()) return {x};
  const Value top = emit(a, "aten::amax", x, axes, true);
  const Value finite = where(emit(a, "aten::isinf", top), number(a, 0.0, x.dtype()), top);
  const Value total = emit(a, "aten::log", summed(a, exp(x - finite), axes, keeps(a, 2)));
  return {total + (keeps(a, 2) ? finite : view(finite, total.shape()))};
}

/// (sum |x|^p)^(1/p); p = inf takes the largest, -inf the smallest, 0 counts.
Values norm(const Args& a, double p, const std::vector<Sym>& axes, bool keep, const Arg& dtype) {
  Value x = a.value(0);
  if (const auto* wanted = std::get_if<DType>(&dtype)) x = to(x, *wanted);
  if (!x.is_floating()) a.fail("needs a floating dtype");
  const Value size = emit(a, "aten::abs", x);
  if (axes.empty()) return {size};
  if (std::isinf(p)) return {emit(a, p > 0 ? "aten::amax" : "aten::amin", size, axes, keep)};
  if (p == 0) return {summed(a, to(to(x, DType::kBool), x.dtype()), axes, keep)};
  if (p == 1) return {summed(a, size, axes, keep)};
  if (p == 2) return {sqrt(summed(a, x * x, axes, keep))};
  return {pow(summed(a, pow(size, p), axes, keep), 1 / p)};
}

/// sum((x - mean)^2) / (n - correction), where n may depend on symbols.
Value variance(const Args& a, const std::vector<Sym>& axes, int64_t correction, bool keep) {
  const Value x = a.value(0);
  if (!x.is_floating()) a.fail("needs a floating dtype");
  Sym count = 1;
  for (const Sym axis : axes) count = count * x.dim(axis.value());
  const Value centered = axes.empty() ? x - x : x - emit(a, "aten::mean.dim", x, axes, true);
  return emit(a, "aten::div.Scalar", summed(a, centered * centered, axes, keep),
              max(count - correction, 0));
}

int64_t correction(const Args& a) {
  if (!a.has(2)) return 1;
  const double c = a.number(2);
  if (c != std::floor(c) || c < 0) a.fail("needs a whole correction");
  return static_cast<int64_t>(c);
}
Value variance(const Args& a) { return variance(a, axes_of(a, 1), correction(a), a.flag(3)); }
Value variance_dim(const Args& a) {
  return variance(a, axes_of(a, 1), a.flag(2) ? 1 : 0, a.flag(3));
}

/// How many elements lie in each of `bins` equal ranges; the last holds its end. Elements outside
/// are not counted. The edges are float32 numbers from both ends, as PyTorch computes them.
Values histc(const Args& a) {
  const int64_t bins = a.integer(1);
  const double low = a.number(2), high = a.number(3);
  if (bins < 1 || bins > 65536) a.fail("needs 1 to 65536 bins");
  if (low >= high)
    throw Error(kUnsupported,
                "[ir] aten::histc: need min < max: ranges that the elements decide "
                "are not supported");
  const Value x = view(to(a.value(0), DType::kF32), {numel(a.type(0).shape), 1});
  const auto first = static_cast<float>(low), last = static_cast<float>(high);
  const float step = (last - first) / static_cast<float>(bins);
  Tensor edges(DType::kF32, {bins + 1});
  const std::span<float> edge = edges.mutable_values<float>();
  for (int64_t i = 0; i <= bins; ++i)
    edge[static_cast<size_t>(i)] = i < (bins + 1) / 2 ? first + step * static_cast<float>(i)
                                                      : last - step * static_cast<float>(bins - i);
  edge.back() = std::nextafter(last, std::numeric_limits<float>::infinity());
  const Value all = a.graph().constant(std::move(edges));
  const Value above = to(compare("aten::ge.Tensor", x, all), DType::kI64);
  const Value reached = sum(above, {0}, false);
  const Value counts = slice(reached, 0, 0, bins) - slice(reached, 0, 1, bins + 1);
  return {to(counts, a.type(0).dtype)};
}

/// Elements whose column minus row is at most (lower) or at least (upper) the diagonal; else 0.
template <const char* kCompare>
Values triangle(const Args& a) {
  const Value x = a.value(0);
  if (x.rank() < 2) a.fail("needs a matrix");
  const Value columns = arange(a.graph(), 0, x.dim(-1));
  const Value rows = unsqueeze(arange(a.graph(), 0, x.dim(-2)), 1);
  const Value kept = compare(kCompare, columns - rows, OpArg(a[1]));
  if (x.dtype() == DType::kBool) return {logical_and(x, kept)};
  return {where(kept, x, emit(a, "aten::full", SymShape(), Sym(0), named("dtype", x.dtype())))};
}
constexpr char kAtMost[] = "aten::le.Scalar", kAtLeast[] = "aten::ge.Scalar";

const OpRow kRows[] = {
    written("aten::any(Tensor self) -> Tensor", any),
    written("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", any),
    written("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", any),
    written("aten::all(Tensor self) -> Tensor", all),
    written("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", all),
    written("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", all),
    written("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", logsumexp),
    written("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
            [](const Args& a) -> Values { return norm(a, a.number(1), every_axis(a), false, {}); }),
    written("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
            "Tensor",
            [](const Args& a) -> Values {
              return norm(a, a.has(1) ? a.number(1) : 2.0, axes_of(a, 2), a.flag(3), {});
            }),
    written("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
            "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
            [](const Args& a) -> Values {
              return norm(a, a.number(1), axes_of(a, 2), a.flag(3), a[4]);
            }),
    written("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
            "bool keepdim=False) -> Tensor",
            [](const Args& a) -> Values { return {variance(a)}; }),
    written("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
            "bool keepdim=False) -> Tensor",
            [](const Args& a) -> Values { return {sqrt(variance(a))}; }),
    written("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
            "Tensor",
            [](const Args& a) -> Values { return {variance_dim(a)}; }),
    written("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
            "Tensor",
            [](const Args& a) -> Values { return {sqrt(variance_dim(a))}; }),
    written("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", histc),
    written("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", triangle<kAtMost>),
    written("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", triangle<kAtLeast>),
    spelling("aten::max(Tensor self) -> Tensor",
             [](const Args& a) -> Values { return {amax(a.value(0))}; }),
    spelling("aten::min(Tensor self) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::amin", a.value(0))}; }),
};

}  // namespace

std::span<const OpRow> statistics() { return kRows; }

}  // namespace slipway::ops

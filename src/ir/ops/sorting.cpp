// The largest elements, order, and where extrema are.
#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// Values and int64 indices of one shape.
std::vector<ValueType> found(const Args& a, SymShape shape) {
  return {{a.type(0).dtype, shape}, {DType::kI64, shape}};
}

std::vector<ValueType> topk(const Args& a) {
  SymShape shape = a.type(0).shape;
  if (shape.empty()) a.fail("needs a tensor with dimensions");
  const auto axis = static_cast<size_t>(a.axis(2, rank_of(a)));
  const Sym k = a.sym(1);
  if (known_le(shape[axis] + 1, k) || known_le(k, -1))
    a.fail("got k=" + k.str() + ", need 0 to " + shape[axis].str());
  shape[axis] = k;
  return found(a, std::move(shape));
}

template <size_t kAxis>
std::vector<ValueType> sorted(const Args& a) {
  if (a.type(0).shape.empty()) a.fail("needs a tensor with dimensions");
  a.axis(kAxis, rank_of(a));
  return found(a, a.type(0).shape);
}

/// Without an axis the place is counted in the whole tensor.
std::vector<ValueType> place(const Args& a) {
  std::vector<int64_t> axes;
  if (a.has(1)) {
    axes = {a.axis(1, rank_of(a))};
  } else {
    for (int64_t i = 0; i < rank_of(a); ++i) axes.push_back(i);
  }
  return {{DType::kI64, reduced(a.type(0).shape, axes, a.flag(2))}};
}

template <const char* kValues, const char* kPlaces>
Values extremum(const Args& a) {
  const Value x = a.value(0);
  return {emit(a, kValues, x, std::vector<Sym>{a.sym(1)}, a.flag(2)),
          emit(a, kPlaces, x, a.sym(1), a.flag(2))};
}
constexpr char kMax[] = "aten::amax", kMin[] = "aten::amin";
constexpr char kArgMax[] = "aten::argmax", kArgMin[] = "aten::argmin";

const OpRow kRows[] = {
    {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
     "(Tensor values, Tensor indices)",
     topk, eval::topk},
    // Equal elements keep their order.
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> "
     "(Tensor values, Tensor indices)",
     sorted<1>, eval::sort},
    spelling("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) "
             "-> (Tensor values, Tensor indices)",
             [](const Args& a) -> Values {
               return a.graph().emit_all(get_op("aten::sort"), {a.value(0), a.sym(2), a.flag(3)});
             }),
    spelling(
        "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        [](const Args& a) -> Values {
          return {a.graph().emit_all(get_op("aten::sort"), {a.value(0), a.sym(1), a.flag(2)})[1]};
        }),
    spelling(
        "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, "
        "bool descending=False) -> Tensor",
        [](const Args& a) -> Values {
          return {a.graph().emit_all(get_op("aten::sort"), {a.value(0), a.sym(2), a.flag(3)})[1]};
        }),
    // The first of equal elements.
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", place, eval::argmax},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", place, eval::argmin},
    spelling("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> "
             "(Tensor values, Tensor indices)",
             extremum<kMax, kArgMax>),
    spelling("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> "
             "(Tensor values, Tensor indices)",
             extremum<kMin, kArgMin>),
};

}  // namespace

std::span<const OpRow> sorting() { return kRows; }

}  // namespace slipway::ops

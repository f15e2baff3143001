// Attention as PyTorch spells it, products by group, and complex numbers as pairs.
#include <cmath>

#include "ir/ops/bodies.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<ValueType> dot_product_attention(const Args& a) {
  const SymShape &q = a.type(0).shape, &k = a.type(1).shape, &v = a.type(2).shape;
  if (q.size() < 3 || q.size() > 4 || k.size() != q.size() || v.size() != q.size())
    a.fail("needs query, key and value [batch, heads, length, head_dim] or without batch");
  if (a.number(4) != 0.0)
    throw Error(kUnsupported, "[ir] " + a.op().name() + ": got a dropout, need dropout_p=0");
  if (a.flag(5) && a.has(3)) a.fail("takes a mask or is_causal, not both");
  const size_t n = q.size();
  require_equal(a, k[n - 1], q[n - 1], "the key's head_dim");
  require_equal(a, v[n - 2], k[n - 2], "the value's length");
  if (a.has(3)) {
    const DType mask = a.type(3).dtype;
    if (mask != DType::kBool && !is_floating(mask)) a.fail("the mask must be bool or floating");
    SymShape scores(q.begin(), q.end() - 1);
    scores.push_back(k[n - 2]);
    if (broadcast(a.type(3).shape, scores) != scores)
      a.fail("the mask " + shape_string(a.type(3).shape) + " does not fit " + shape_string(scores));
  }
  ValueType out = a.type(0);
  out.shape.back() = v.back();
  return {out};
}

/// True at [i, j] where j <= i: both lengths count from the first position.
Value causal(const Args& a, Sym queries, Sym keys) {
  return less_equal(arange(a.graph(), 0, keys), unsqueeze(arange(a.graph(), 0, queries), 1));
}

/// softmax(scale q k' + mask) v over [batch, heads, length, head_dim], with a mask of numbers.
Value biased(const Args& a, Value q, Value k, Value v, Value mask, double scale) {
  if (const Sym groups = floordiv(q.dim(1), k.dim(1)); !groups.is_const(1)) {
    const OpArg along = named("dim", 1);
    k = emit(a, "aten::repeat_interleave.self_int", k, groups, along);
    v = emit(a, "aten::repeat_interleave.self_int", v, groups, along);
  }
  const Value scores = matmul(q, transpose(k, 2, 3)) * scale + to(mask, q.dtype());
  return matmul(softmax(scores, 3), v);
}

/// A row that nothing is visible in gives zeros, as PyTorch does.
Values dot_product_attention_body(const Args& a) {
  Value q = a.value(0), k = a.value(1), v = a.value(2), mask = a.optional(3);
  const bool batched = q.rank() == 4;
  if (!batched) {
    q = unsqueeze(q, 0);
    k = unsqueeze(k, 0);
    v = unsqueeze(v, 0);
  }
  double scale = 0;
  if (a.has(6)) scale = a.number(6);
  else if (q.dim(3).is_const()) scale = 1 / std::sqrt(static_cast<double>(q.dim(3).value()));
  else a.fail("needs a head_dim that is a number, or a scale");
  if (a.flag(5)) mask = causal(a, q.dim(2), k.dim(2));
  Value out;
  if (mask.defined() && mask.dtype() != DType::kBool) {
    out = biased(a, q, k, v, mask, scale);
    const Value top = emit(a, "aten::amax", mask, std::vector<Sym>{-1}, true);
    out = where(compare("aten::eq.Scalar", top, -kInfinity), number(a, 0.0, out.dtype()), out);
  } else {
    out = attention(q, k, v, mask, scale);
    if (mask.defined() && !a.flag(5)) {
      const Value seen = emit(a, "aten::any.dim", mask, Sym(-1), true);
      out = where(seen, out, number(a, 0.0, out.dtype()));
    }
  }
  return {batched ? out : squeeze(out, 0)};
}

std::vector<ValueType> grouped_mm(const Args& a) {
  const SymShape &input = a.type(0).shape, &weight = a.type(1).shape, &ends = a.type(2).shape;
  if (input.size() != 2 || weight.size() != 3 || ends.size() != 1)
    a.fail("needs input [rows, in], weight [groups, in, out] and offs [groups]");
  if (a.type(1).dtype != a.type(0).dtype) a.fail("input and weight differ in dtype");
  if (a.type(2).dtype != DType::kI32 && a.type(2).dtype != DType::kI64)
    a.fail("offs must be int32 or int64");
  require_equal(a, weight[1], input[1], "the weight's input size");
  require_equal(a, ends[0], weight[0], "the number of offsets");
  if (!weight[0].is_const()) a.fail("the number of groups must be a number");
  return {{a.type(0).dtype, {input[0], weight[2]}}};
}

/// Every product over all rows, kept where the row is of the group: for runtimes that have nothing
/// better. A back end that can cut rows out has a row of its own.
Values grouped_mm_body(const Args& a) {
  const Value x = a.value(0), ends = to(a.value(2), DType::kI64);
  const Value rows = unsqueeze(arange(a.graph(), 0, x.dim(0)), 1);
  Value out = full(a.graph(), {x.dim(0), a.value(1).dim(2)}, 0.0, x.dtype());
  Value before;  // the rows of earlier groups
  for (int64_t g = 0; g < ends.dim(0).value(); ++g) {
    const Value reached = compare("aten::lt.Tensor", rows, select(ends, 0, g));
    const Value product = matmul(x, select(a.value(1), 0, g));
    Value own = reached;
    if (before.defined()) own = logical_and(reached, emit(a, "aten::logical_not", before));
    out = where(own, product, out);
    before = before.defined() ? emit(a, "aten::logical_or", before, reached) : reached;
  }
  return {out};
}

/// Torch's own op of these products. What it leaves in rows from the last offset on is not defined.
std::vector<ValueType> torch_grouped_mm(const Args& a) {
  if (!a.has(2) || a.has(3) || a.has(4))
    a.fail("only products of groups of rows are known: with offs, without bias and out_dtype");
  return grouped_mm(a);
}

std::vector<ValueType> pairs(const Args& a) {
  const SymShape& shape = a.type(0).shape;
  if (shape.empty() || !shape.back().is_const(2)) a.fail("needs pairs [..., 2]");
  SymShape parts = binary(a)[0].shape;
  if (!parts.back().is_const(2)) a.fail("needs pairs [..., 2]");
  return {{promote(a.type(0), a.type(1)), parts}};
}

Values complex_mul(const Args& a) {
  const auto part = [&](size_t i, int64_t p) { return select(a.value(i), -1, p); };
  const Value real = part(0, 0) * part(1, 0) - part(0, 1) * part(1, 1);
  const Value imaginary = part(0, 0) * part(1, 1) + part(0, 1) * part(1, 0);
  return {emit(a, "aten::stack", Values{real, imaginary}, Sym(-1))};
}

const OpRow kRows[] = {
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, "
     "bool enable_gqa=False) -> Tensor",
     dot_product_attention, nullptr, dot_product_attention_body},
    // Rows [offs[g - 1], offs[g]) times weight[g]; rows from the last offset on are zero.
    {"slipway::grouped_mm(Tensor input, Tensor weight, Tensor offs) -> Tensor", grouped_mm,
     eval::grouped_mm, grouped_mm_body},
    {"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
     "ScalarType? out_dtype=None) -> Tensor",
     torch_grouped_mm, nullptr,
     [](const Args& a) -> Values {
       return {emit(a, "slipway::grouped_mm", a.value(0), a.value(1), a.value(2))};
     }},
    // Complex numbers are pairs (real, imaginary) along the last axis.
    {"slipway::complex_mul(Tensor a, Tensor b) -> Tensor", pairs, nullptr, complex_mul},
    written("slipway::polar(Tensor abs, Tensor angle) -> Tensor",
            [](const Args& a) -> Values {
              return {emit(a, "aten::stack",
                           Values{a.value(0) * cos(a.value(1)), a.value(0) * sin(a.value(1))},
                           Sym(-1))};
            }),
};

}  // namespace

std::span<const OpRow> attention_and_groups() { return kRows; }

}  // namespace slipway::ops

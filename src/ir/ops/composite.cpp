// The ops of namespace slipway: intent that ATen has no word for, each with a body in ATen ops.
#include <fmt/format.h>

#include "ir/build.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

std::vector<Value> rms_norm_body(const Args& a) {
  const Value x = a.value(0), weight = a.value(1);
  const Value wide = to(x, DType::kF32);
  const Value normed = to(wide * rsqrt(mean(pow(wide, 2.0), {-1}, true) + a.number(2)), x.dtype());
  return {(a.flag(3) ? weight + 1.0 : weight) * normed};
}

std::vector<ValueType> rotary(const Args& a) {
  const SymShape& x = a.type(0).shape;
  const SymShape& cos = a.type(1).shape;
  if (x.size() != 4 || cos.size() != 3 || a.type(2).shape.size() != 3)
    a.fail("needs x [batch, heads, sequence, head_dim], cos and sin [batch, sequence, rotary/2]");
  if (!cos[2].is_const() || !x[3].is_const() || cos[2].value() > x[3].value() / 2)
    a.fail("the rotary size must be fixed and at most head_dim");
  return {a.type(0)};
}

/// (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin) over the first 2r of the last axis, halves or,
/// when interleaved, neighbours forming the pairs (Su et al. 2021); the rest passes through.
std::vector<Value> rotary_body(const Args& a) {
  const Value x = a.value(0);
  const Value cos = unsqueeze(a.value(1), 1), sin = unsqueeze(a.value(2), 1);
  const int64_t half = cos.dim(3).value(), rotary_size = 2 * half, head = x.dim(3).value();
  const Value turned = rotary_size < head ? slice(x, 3, 0, rotary_size) : x;
  Value x1, x2;
  SymShape pairs = x.shape();
  pairs.back() = half;
  pairs.emplace_back(2);
  if (a.flag(3)) {
    const Value split = view(turned, pairs);
    x1 = select(split, 4, 0);
    x2 = select(split, 4, 1);
  } else {
    x1 = slice(turned, 3, 0, half);
    x2 = slice(turned, 3, half, rotary_size);
  }
  const Value y1 = x1 * cos - x2 * sin, y2 = x2 * cos + x1 * sin;
  Value y;
  if (a.flag(3)) {
    SymShape flat = x.shape();
    flat.back() = rotary_size;
    y = view(cat({unsqueeze(y1, 4), unsqueeze(y2, 4)}, 4), flat);
  } else {
    y = cat({y1, y2}, 3);
  }
  if (rotary_size < head) y = cat({y, slice(x, 3, rotary_size, head)}, 3);
  return {y};
}

std::vector<ValueType> attention(const Args& a) {
  const SymShape &q = a.type(0).shape, &k = a.type(1).shape, &v = a.type(2).shape;
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    a.fail("needs query, key and value [batch, heads, length, head_dim]");
  require_equal(a, k[3], q[3], "the key's head_dim");
  require_equal(a, v[1], k[1], "the value's heads");
  require_equal(a, v[2], k[2], "the value's length");
  if (!q[1].is_const() || !k[1].is_const() || k[1].value() < 1 || q[1].value() % k[1].value() != 0)
    a.fail(
        fmt::format("{} query heads do not divide by {} key-value heads", q[1].str(), k[1].str()));
  if (a.has(3)) {
    if (a.type(3).dtype != DType::kBool) a.fail("the mask must be bool: true where attention goes");
    broadcast(a.type(3).shape, {q[0], q[1], q[2], k[2]});
  }
  return {{a.type(0).dtype, {q[0], q[1], q[2], v[3]}}};
}

/// softmax(scale q k' + mask) v with each key-value head serving a group of query heads (Ainslie et
/// al. 2023). The group is folded into the query length, so no key or value is copied. A row whose
/// mask is all false gets the plain average: finite on every runtime.
std::vector<Value> attention_body(const Args& a) {
  const Value q = a.value(0), k = a.value(1), v = a.value(2);
  const SymShape &qs = q.shape(), &ks = k.shape();
  const int64_t groups = qs[1].value() / ks[1].value();
  const SymShape folded = {qs[0], ks[1], qs[2] * groups, qs[3]};
  Value scores = matmul(groups > 1 ? view(q, folded) : q, transpose(k, 2, 3)) * a.number(4);
  if (groups > 1) scores = view(scores, {qs[0], qs[1], qs[2], ks[2]});
  if (a.number(5) > 0) scores = tanh(scores * (1.0 / a.number(5))) * a.number(5);  // soft-cap
  scores = to(scores, DType::kF32);
  if (a.has(3)) scores = where(a.value(3), scores, lowest(scores));
  Value weights = to(softmax(scores, 3), q.dtype());
  if (groups == 1) return {matmul(weights, v)};
  weights = view(weights, {qs[0], ks[1], qs[2] * groups, ks[2]});
  return {view(matmul(weights, v), {qs[0], qs[1], qs[2], v.dim(3)})};
}

std::vector<ValueType> causal_mask(const Args& a) {
  const SymShape& mask = a.type(0).shape;
  if (mask.size() != 2) a.fail("needs a padding mask [batch, total length]");
  return {{DType::kBool, {mask[0], 1, a.sym(1), mask[1]}}};
}

/// Query i of n stands at slot total - n + i and sees slots j that the padding mask keeps, with
/// j <= slot and, under a sliding window, slot - j < window.
std::vector<Value> causal_mask_body(const Args& a) {
  const Value padding = a.value(0);
  Graph& g = padding.graph();
  const Sym total = padding.dim(1), length = a.sym(1);
  const Value keys = unsqueeze(arange(g, 0, total), 0);
  const Value queries = unsqueeze(arange(g, total - length, total), 1);
  Value visible = less_equal(keys, queries);
  if (a.has(2)) visible = logical_and(visible, less(queries - keys, a.sym(2)));
  const Value kept = unsqueeze(unsqueeze(to(padding, DType::kBool), 1), 1);
  return {logical_and(unsqueeze(unsqueeze(visible, 0), 0), kept)};
}

std::vector<ValueType> cache_append(const Args& a) {
  ValueType out = a.type(0);
  const SymShape& current = a.type(1).shape;
  if (out.shape.size() != 4 || current.size() != 4)
    a.fail("needs past and current [batch, heads, length, head_dim]");
  for (const size_t i : {size_t{0}, size_t{1}, size_t{3}})
    require_equal(a, current[i], out.shape[i], "the current entry's size");
  out.shape[2] = out.shape[2] + current[2];
  return {out};
}

std::vector<ValueType> cache_write(const Args& a) {
  const SymShape &cache = a.type(0).shape, &current = a.type(2).shape;
  if (cache.size() != 4 || current.size() != 4)
    a.fail("needs cache and current [batch, heads, length, head_dim]");
  if (a.type(1).dtype != DType::kI64 || a.type(1).shape.size() != 1)
    a.fail("needs the slots as int64 [length]");
  for (const size_t i : {size_t{0}, size_t{1}, size_t{3}})
    require_equal(a, current[i], cache[i], "the current entry's size");
  require_equal(a, a.type(1).shape[0], current[2], "the number of slots");
  return {a.type(0)};
}

std::vector<ValueType> keep_last(const Args& a) {
  ValueType out = a.type(0);
  if (out.shape.size() != 3) a.fail("needs [batch, length, size]");
  if (a.type(1).dtype != DType::kI64 || !a.type(1).shape.empty())
    a.fail("needs the count as an int64 scalar");
  out.shape[1] = a.sym(2);
  return {out};
}

const OpRow kRows[] = {
    // w * x / sqrt(mean(x^2) + eps), the norm in float32; w + 1 with unit_offset.
    {.schema =
         "slipway::rms_norm(Tensor x, Tensor weight, float eps, bool unit_offset=False) -> Tensor",
     .infer = same_as_self,
     .body = rms_norm_body},
    {.schema = "slipway::rotary_embedding(Tensor x, Tensor cos, Tensor sin, "
               "bool interleaved=False) -> Tensor",
     .infer = rotary,
     .body = rotary_body},
    {.schema =
         "slipway::attention(Tensor query, Tensor key, Tensor value, Tensor? mask, float scale, "
         "float softcap=0.0) -> Tensor",
     .infer = attention,
     .body = attention_body},
    {.schema = "slipway::causal_mask(Tensor padding_mask, SymInt query_length, "
               "SymInt? window=None) -> Tensor",
     .infer = causal_mask,
     .body = causal_mask_body},
    {.schema = "slipway::cache_append(Tensor past, Tensor current) -> Tensor",
     .infer = cache_append,
     .body = [](const Args& a) -> std::vector<Value> {
       return {cat({a.value(0), a.value(1)}, 2)};
     }},
    // The cache with `current` at `slots` of its third axis; the rest stays.
    {.schema = "slipway::cache_write(Tensor cache, Tensor slots, Tensor current) -> Tensor",
     .infer = cache_write,
     .body = [](const Args& a) -> std::vector<Value> {
       return {
           a.value(0).graph().emit("aten::index_copy", {a.value(0), 2, a.value(1), a.value(2)})};
     }},
    // The last `count` positions of [batch, length, size], all of them for 0. How many there are
    // depends on a value, so the size has a name of its own and there is no body.
    {.schema = "slipway::keep_last(Tensor x, Tensor count, SymInt kept) -> Tensor",
     .infer = keep_last,
     .eval = eval::keep_last},
};

}  // namespace

std::span<const OpRow> composite() { return kRows; }

}  // namespace slipway::ops

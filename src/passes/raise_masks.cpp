// Recovers masks and look-ups that were written with ranges of indices.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/build.h"
#include "passes/index_range.h"
#include "passes/raise.h"

namespace slipway {
namespace {

using Found = std::optional<Value>;

bool is_op(Value v, std::string_view name) {
  return v.node()->kind == NodeKind::kOp && v.node()->op->name() == name;
}

Value operand(Value v, size_t i) { return v.node()->arguments().value(i); }

/// x[start_0 + i, start_1 + j, ...] with ranges for indices, each along an axis of its own in the
/// order of x's axes -> the part of x, viewed
Found index_of_ranges(Match& m) {
  const Args a = m.root().node()->arguments();
  const Value x = a.value(0);
  const std::vector<Value>& indices = a.values(1);
  if (static_cast<int64_t>(indices.size()) != x.rank()) return m.fail("not every axis is indexed");
  Value part = x;
  int64_t before = -m.root().rank() - 1;
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto range = indices[i].defined() ? index_range(indices[i]) : std::nullopt;
    if (!range) return m.fail("an index does not count");
    const auto axis = static_cast<int64_t>(i);
    if (range->axis != 0 && range->axis <= before) return m.fail("the indices permute axes");
    if (range->axis != 0) before = range->axis;
    const bool whole = range->start == 0 && range->count == x.dim(axis);
    if (!whole &&
        !(range->start.bounds().lo >= 0 && known_le(range->start + range->count, x.dim(axis))))
      return m.fail("the indices may lie outside");
    if (!whole) part = slice(part, axis, range->start, range->start + range->count);
  }
  return view(part, m.root().shape());
}

/// table[start + i] with a range for the indices -> rows of the table, viewed
Found embedding_of_range(Match& m) {
  const Value table = m["table"], indices = m["indices"];
  const auto range = index_range(indices);
  if (!range) return m.fail("the indices do not count");
  if (range->start.bounds().lo < 0 || !known_le(range->start + range->count, table.dim(0)))
    return m.fail("the indices may lie outside");
  return view(slice(table, 0, range->start, range->start + range->count), m.root().shape());
}

/// Expansion says nothing about what an element is.
Value without_expand(Value v) {
  while (is_op(v, "aten::expand")) v = operand(v, 0);
  return v;
}

void conjuncts(Value v, std::vector<Value>& out) {
  v = without_expand(v);
  if (is_op(v, "aten::logical_and") || is_op(v, "aten::bitwise_and.Tensor")) {
    conjuncts(operand(v, 0), out);
    conjuncts(operand(v, 1), out);
  } else {
    out.push_back(v);
  }
}

/// The two sides of a comparison of positions: keys along the last axis, queries along the one
/// before, where keys <= queries (or keys > queries - window, `strict`).
struct Comparison {
  IndexRange keys, queries;
  bool window = false;
};

std::optional<Comparison> comparison(Value v) {
  const bool le = is_op(v, "aten::le.Tensor"), ge = is_op(v, "aten::ge.Tensor"),
             gt = is_op(v, "aten::gt.Tensor"), lt = is_op(v, "aten::lt.Tensor");
  if (!le && !ge && !gt && !lt) return std::nullopt;
  const Value left = operand(v, 0), right = operand(v, 1);
  const auto keys = index_range(le || gt ? left : right);
  const auto queries = index_range(le || gt ? right : left);
  if (!keys || !queries) return std::nullopt;
  if ((keys->axis != -1 && keys->axis != 0) || (queries->axis != -2 && queries->axis != 0))
    return std::nullopt;
  return Comparison{*keys, *queries, gt || lt};
}

/// The padding mask [batch, total] that a conjunct shows along its last axis, or undefined.
Value padding_of(Value v, Sym total) {
  while (is_op(v, "aten::view") || is_op(v, "aten::unsqueeze") || is_op(v, "aten::_to_copy"))
    v = operand(v, 0);
  return v.rank() == 2 && v.dim(1) == total && v.node()->kind != NodeKind::kConstant ? v : Value();
}

/// keys <= queries and (keys > queries - window) and padding, over ranges of positions
Found causal_mask(Match& m) {
  if (m.root().rank() != 4) return m.fail("the mask is not of rank 4");
  std::vector<Value> parts;
  conjuncts(m.root(), parts);
  std::optional<Comparison> causal, window;
  Value padding;
  for (const Value part : parts) {
    if (const auto found = comparison(part)) {
      auto& slot = found->window ? window : causal;
      if (slot) return m.fail("it compares positions twice", part);
      slot = found;
    } else if (!padding.defined()) {
      padding = part;
    } else {
      return m.fail("it has a condition that is not about positions", part);
    }
  }
  if (!causal || !padding.defined()) return m.fail("it is not causal or has no padding");
  const IndexRange &keys = causal->keys, &queries = causal->queries;
  const Sym total = keys.count;
  padding = padding_of(padding, total);
  if (!padding.defined() || m.root().shape() != SymShape{padding.dim(0), 1, queries.count, total})
    return m.fail("the padding is not [batch, keys]");
  if (keys.start != 0 || queries.start + queries.count != total)
    return m.fail("the queries are not the last positions");
  OpArg size = none();
  if (window) {
    if (window->keys.start != 0 || window->keys.count != total ||
        window->queries.count != queries.count)
      return m.fail("the window is of other positions");
    size = queries.start - window->queries.start;
  }
  return m.emit("slipway::causal_mask", padding, queries.count, size);
}

/// indices >= number, where all of them are
Found true_comparison(Match& m) {
  const auto range = index_range(m["indices"]);
  const Sym bound = m.size("bound");
  if (!range || !known_le(bound, range->start)) return m.fail("not every index is in reach");
  return full(m.graph(), m.root().shape(), 1.0, DType::kBool);
}

/// Attention whose mask is about padding: rows of it that see nothing are padding themselves, so
/// that zeros for them say no more than the average that the composite gives.
bool is_about_padding(Value mask) {
  if (is_op(mask, "slipway::causal_mask")) return true;
  while (is_op(mask, "aten::view") || is_op(mask, "aten::unsqueeze") ||
         is_op(mask, "aten::_to_copy"))
    mask = operand(mask, 0);
  return mask.node()->kind == NodeKind::kInput && mask.rank() == 2;
}

/// scaled_dot_product_attention without a mask, or with one of padding
Found attention(Match& m) {
  const Args a = m.root().node()->arguments();
  const Value query = a.value(0), key = a.value(1);
  if (query.rank() != 4 || a.flag(5)) return m.fail("it is not [batch, heads, ...], or is causal");
  Value mask = a.optional(3);
  if (mask.defined()) {
    mask = without_expand(mask);
    if (mask.dtype() != DType::kBool || mask.rank() != 4 || !is_about_padding(mask))
      return m.fail("the mask is not about padding", mask);
  }
  const Sym head = query.dim(3);
  if (!a.has(6) && !head.is_const()) return m.fail("the scale depends on a size");
  const double scale = a.has(6) ? a.number(6) : 1 / std::sqrt(static_cast<double>(head.value()));
  return slipway::attention(query, key, a.value(2), mask, scale);
}

constexpr Rule kRules[] = {
    {"true_comparison",
     [](Pattern& p) {
       return p.op("aten::ge.Scalar", {p.any("indices"), p.size("bound")});
     },
     true_comparison},
    // x and true, where x is narrower -> x expanded
    {"and_true_wide",
     [](Pattern& p) {
       return logical_and(p.any("x"), p.op("aten::full", {p.sizes("shape"), 1.0,
                                                          named("dtype", p.dtype("dtype"))}));
     },
     [](Match& m) -> Found {
       if (m["x"].dtype() != DType::kBool) return std::nullopt;
       return expand(m["x"], m.root().shape());
     }},
    {"index_of_ranges",
     [](Pattern& p) {
       return p.op("aten::index.Tensor", {p.any("x"), p.ignored()});
     },
     index_of_ranges},
    {"embedding_of_range",
     [](Pattern& p) {
       return p.op("aten::embedding",
                   {p.any("table"), p.any("indices"), p.ignored(), p.ignored(), p.ignored()});
     },
     embedding_of_range},
    {"causal_mask_of_ranges", [](Pattern& p) { return logical_and(p.any("left"), p.any("right")); },
     causal_mask},
    {"attention_of_padding",
     [](Pattern& p) {
       return p.op("aten::scaled_dot_product_attention",
                   {p.any("query"), p.any("key"), p.any("value"), p.ignored(), 0.0, p.ignored(),
                    p.ignored(), p.ignored()});
     },
     attention},
};

}  // namespace

std::span<const Rule> mask_rules() { return kRules; }

}  // namespace slipway

// Recovers composites from the way that PyTorch model code spells them.
#include <vector>

#include "ir/build.h"
#include "passes/raise.h"

namespace slipway {
namespace {

using Found = std::optional<Value>;

bool is_op(Value v, std::string_view name) {
  return v.node()->kind == NodeKind::kOp && v.node()->op->name() == name;
}

Value operand(Value v, size_t i) { return v.node()->arguments().value(i); }

Value twice(Pattern& p, Value x) {
  return p.op("aten::cat", {std::vector<Value>{x, x}, p.size("axis")});
}

/// f(cat(x, x)) -> cat(f(x), f(x)) for what works element by element
Found twin_of(Match& m, Value part) {
  return m.emit("aten::cat", std::vector<Value>{part, part}, m.size("axis"));
}

/// Looks through views that put the twin's axis last: the half c of c twice along the last axis.
Value half_of_twin(Value v) {
  if (is_op(v, "aten::view") || is_op(v, "aten::unsqueeze")) {
    const Value below = half_of_twin(operand(v, 0));
    if (!below.defined() || below.rank() < 1) return Value();
    SymShape shape = v.shape();
    if (shape.empty() || shape.back() != below.dim(-1) + below.dim(-1)) return Value();
    shape.back() = below.dim(-1);
    return view(below, shape);
  }
  if (!is_op(v, "aten::cat")) return Value();
  const Args a = v.node()->arguments();
  const std::vector<Value>& parts = a.values(0);
  if (parts.size() != 2 || parts[0] != parts[1] || a.axis(1, v.rank()) != v.rank() - 1)
    return Value();
  return parts[0];
}

/// c shown twice along the last axis, element by element: view(expand(unsqueeze(c, -1), 2)).
Value half_of_pairs(Value v) {
  if (is_op(v, "aten::view") || is_op(v, "aten::unsqueeze")) {
    const Value inner = operand(v, 0);
    if (is_op(inner, "aten::expand")) {
      const Value c = operand(inner, 0);
      if (inner.rank() < 2 || c.rank() != inner.rank() || !c.dim(-1).is_const(1) ||
          !inner.dim(-1).is_const(2) || v.shape().empty() || v.dim(-1) != c.dim(-2) * 2)
        return Value();
      SymShape shape = v.shape();
      shape.back() = c.dim(-2);
      return numel(shape) == numel(c.shape()) ? view(c, shape) : Value();
    }
    const Value below = half_of_pairs(inner);
    if (!below.defined() || v.shape().empty() || v.dim(-1) != below.dim(-1) * 2) return Value();
    SymShape shape = v.shape();
    shape.back() = below.dim(-1);
    return view(below, shape);
  }
  return Value();
}

/// cos or sin [batch, 1, sequence, r] as the composite takes it.
Value angles(Value half) {
  if (!half.defined() || half.rank() != 4 || !half.dim(1).is_const(1)) return Value();
  return view(half, {half.dim(0), half.dim(2), half.dim(3)});
}

Value sliced_last(Pattern& p, Value x, const char* start, const char* end, int64_t step) {
  return p.op("aten::slice.Tensor", {x, p.size("axis"), p.size(start), p.size(end), step});
}

Found rotary(Match& m, Value cos, Value sin, bool interleaved) {
  const Value x = m["x"];
  if (x.rank() != 4) return m.fail("x is not of rank 4", x);
  cos = angles(cos);
  sin = angles(sin);
  if (!cos.defined() || !sin.defined()) return m.fail("the angles are not twice the same");
  if (cos.dim(2) * 2 != x.dim(3) || sin.shape() != cos.shape())
    return m.fail("the angles are not those of half a head");
  return m.emit("slipway::rotary_embedding", x, cos, sin, interleaved);
}

/// x * cos2 + cat(-x[h:], x[:h]) * sin2 with cos2 = cat(cos, cos)
Value rotary_halves_pattern(Pattern& p) {
  const Value x = p.any("x");
  const Value first = sliced_last(p, x, "zero", "half", 1),
              second = sliced_last(p, x, "middle", "end", 1);
  const Value turned = p.op("aten::cat", {std::vector<Value>{neg(second), first}, p.size("join")});
  return x * p.any("cos") + turned * p.any("sin");
}

Found rotary_halves(Match& m) {
  const Value x = m["x"];
  const auto last = [&](const char* name) {
    const Sym axis = m.size(name);
    return axis.is_const() && normalize_axis(axis.value(), x.rank()) == x.rank() - 1;
  };
  if (x.rank() != 4 || !last("axis") || !last("join")) return m.fail("it is not the last axis", x);
  const Sym half = m.size("half");
  if (m.size("zero") != 0 || m.size("middle") != half || half * 2 != x.dim(-1) ||
      !known_le(x.dim(-1), m.size("end")))
    return m.fail("the parts are not halves", x);
  return rotary(m, half_of_twin(m["cos"]), half_of_twin(m["sin"]), false);
}

/// x * cos2 + view(cat(-x[1::2], x[::2])) * sin2 with every angle shown twice in a row
Value rotary_pairs_pattern(Pattern& p) {
  const Value x = p.any("x");
  const Value even = sliced_last(p, x, "zero", "end", 2), odd = sliced_last(p, x, "one", "end", 2);
  const Value pairs = p.op("aten::cat", {std::vector<Value>{p.op("aten::unsqueeze", {neg(odd), -1}),
                                                            p.op("aten::unsqueeze", {even, -1})},
                                         p.size("join")});
  return x * p.any("cos") + p.op("aten::view", {pairs, p.sizes("flat")}) * p.any("sin");
}

Found rotary_pairs(Match& m) {
  const Value x = m["x"];
  if (x.rank() != 4 || m.size("zero") != 0 || m.size("one") != 1 ||
      !known_le(x.dim(-1), m.size("end")))
    return m.fail("the parts are not neighbours", x);
  return rotary(m, half_of_pairs(m["cos"]), half_of_pairs(m["sin"]), true);
}

/// cat(rotary(x[:r]), x[r:]) -> rotary(x), whose rest passes through
Value rotary_partial_pattern(Pattern& p) {
  const Value x = p.any("x");
  const Value head = p.op("slipway::rotary_embedding", {sliced_last(p, x, "zero", "size", 1),
                                                        p.any("cos"), p.any("sin"), p.ignored()});
  const Value rest = sliced_last(p, x, "from", "end", 1);
  return p.op("aten::cat", {std::vector<Value>{head, rest}, p.size("join")});
}

Found rotary_partial(Match& m) {
  const Value x = m["x"], cos = m["cos"];
  if (x.rank() != 4 || m.size("zero") != 0 || m.size("from") != m.size("size") ||
      m.size("size") != cos.dim(-1) * 2 || !known_le(x.dim(-1), m.size("end")))
    return m.fail("the parts are not a head and its rest", x);
  const Value head = m.root().node()->arguments().values(0)[0];
  return m.emit("slipway::rotary_embedding", x, cos, m["sin"], head.node()->arguments().flag(3));
}

/// The key-value heads behind heads that are repeated: view(expand(unsqueeze(kv, 2))).
Value without_repeat(Value v) {
  if (!is_op(v, "aten::view") || v.rank() != 4) return Value();
  const Value wide = operand(v, 0);
  if (!is_op(wide, "aten::expand") || wide.rank() != 5) return Value();
  const Value one = operand(wide, 0);
  if (one.rank() != 5 || !one.dim(2).is_const(1)) return Value();
  const SymShape merged = {wide.dim(0), wide.dim(1) * wide.dim(2), wide.dim(3), wide.dim(4)};
  const SymShape narrow = {one.dim(0), one.dim(1), one.dim(3), one.dim(4)};
  if (v.shape() != merged || narrow[0] != merged[0] || narrow[2] != merged[2]) return Value();
  return view(one, narrow);
}

/// attention over repeated heads -> attention in groups
Found grouped_attention(Match& m) {
  const Value key = without_repeat(m["key"]), value = without_repeat(m["value"]);
  if (!key.defined() || !value.defined()) return std::nullopt;
  const Args a = m.root().node()->arguments();
  return m.emit("slipway::attention", m["query"], key, value, a.optional(3), a.number(4),
                a.number(5));
}

/// past and current joined along the length, past being an input of the graph
Found cache_append(Match& m) {
  const Value past = m["past"], current = m["current"];
  if (past.node()->kind != NodeKind::kInput || past.rank() != 4 || current.rank() != 4 ||
      past.dtype() != current.dtype())
    return std::nullopt;
  const Sym axis = m.size("axis");
  if (!axis.is_const() || normalize_axis(axis.value(), 4) != 2) return std::nullopt;
  return m.emit("slipway::cache_append", past, current);
}

/// entries of an input's third axis replaced
Found cache_write(Match& m) {
  const Value cache = m["cache"], current = m["current"];
  const Sym axis = m.size("axis");
  if (cache.node()->kind != NodeKind::kInput || cache.rank() != 4 || !axis.is_const() ||
      normalize_axis(axis.value(), 4) != 2 || m["slots"].dtype() != DType::kI64)
    return std::nullopt;
  return m.emit("slipway::cache_write", cache, m["slots"], current);
}

constexpr Rule kRules[] = {
    {"cos_of_twin", [](Pattern& p) { return cos(twice(p, p.any("x"))); },
     [](Match& m) { return twin_of(m, cos(m["x"])); }},
    {"sin_of_twin", [](Pattern& p) { return sin(twice(p, p.any("x"))); },
     [](Match& m) { return twin_of(m, sin(m["x"])); }},
    {"scaled_twin", [](Pattern& p) { return twice(p, p.any("x")) * p.scalar("by"); },
     [](Match& m) { return twin_of(m, m["x"] * m.scalar("by")); }},
    {"cast_twin",
     [](Pattern& p) {
       return p.op("aten::_to_copy", {twice(p, p.any("x")), named("dtype", p.dtype("to"))});
     },
     [](Match& m) { return twin_of(m, to(m["x"], m.dtype("to"))); }},
    {"rotary_halves", rotary_halves_pattern, rotary_halves},
    {"rotary_pairs", rotary_pairs_pattern, rotary_pairs},
    {"rotary_partial", rotary_partial_pattern, rotary_partial},
    {"grouped_attention",
     [](Pattern& p) {
       return p.op("slipway::attention", {p.any("query"), p.any("key"), p.any("value"), p.ignored(),
                                          p.ignored(), p.ignored()});
     },
     grouped_attention},
    {"cache_append",
     [](Pattern& p) {
       return p.op("aten::cat",
                   {std::vector<Value>{p.any("past"), p.any("current")}, p.size("axis")});
     },
     cache_append},
    {"cache_write",
     [](Pattern& p) {
       return p.op("aten::index_copy",
                   {p.any("cache"), p.size("axis"), p.any("slots"), p.any("current")});
     },
     cache_write},
};

}  // namespace

std::span<const Rule> spelling_rules() { return kRules; }

}  // namespace slipway

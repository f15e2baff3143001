// Identities of views, permutations, slices and joins.
#include <numeric>

#include "ir/build.h"
#include "passes/canonicalize.h"

namespace slipway {
namespace {

std::optional<Value> give_x(Match& m) { return m["x"]; }

std::optional<Value> give_x_of_equal_shape(Match& m) {
  if (m["x"].shape() != m.root().shape()) return std::nullopt;
  return m["x"];
}

/// "dims" or "dim0" and "dim1" of the permutation that the pattern calls `which`, as axes: output
/// axis i is input axis result[i].
std::vector<int64_t> permutation(const Match& m, const std::string& which) {
  std::vector<int64_t> axes(static_cast<size_t>(m["x"].rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (m.choice(which) == 0) {
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = m.sizes(which)[i].value();
  } else {
    std::swap(axes[static_cast<size_t>(m.size(which + "0").value())],
              axes[static_cast<size_t>(m.size(which + "1").value())]);
  }
  return axes;
}

Value permuted(Pattern& p, Value x, const std::string& which) {
  if (p.choose(which, 2) == 0) return p.op("aten::permute", {x, p.sizes(which)});
  return p.op("aten::transpose.int", {x, p.size(which + "0"), p.size(which + "1")});
}

/// The shortest spelling: x itself, one swap, or a permutation.
Value emit_permutation(Value x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> moved;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(i)) moved.push_back(static_cast<int64_t>(i));
  if (moved.empty()) return x;
  if (moved.size() == 2) return transpose(x, moved[0], moved[1]);
  return permute(x, axes);
}

/// x with axes of size 1 added so that it has this shape; nullopt where that is not enough.
std::optional<Value> unsqueezed(Value x, const SymShape& shape) {
  if (shape.size() <= x.shape().size()) return std::nullopt;
  std::vector<int64_t> added;
  size_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool more_than_needed = shape.size() - i > x.shape().size() - at;
    if (at < x.shape().size() && x.shape()[at] == shape[i] &&
        !(shape[i].is_const(1) && more_than_needed))
      ++at;
    else if (shape[i].is_const(1)) added.push_back(static_cast<int64_t>(i));
    else return std::nullopt;
  }
  if (at != x.shape().size()) return std::nullopt;
  for (const int64_t axis : added) x = unsqueeze(x, axis);
  return x;
}

constexpr Rule kRules[] = {
    // reshape says view where nothing has strides
    {"reshape_is_view",
     [](Pattern& p) {
       return p.op("aten::reshape", {p.any("x"), p.sizes("shape")});
     },
     [](Match& m) -> std::optional<Value> { return view(m["x"], m.root().shape()); }},
    // t(x) -> transpose(x, 0, 1); of a vector or scalar: x
    {"t_is_transpose", [](Pattern& p) { return p.op("aten::t", {p.any("x")}); },
     [](Match& m) -> std::optional<Value> {
       return m["x"].rank() < 2 ? m["x"] : transpose(m["x"], 0, 1);
     }},
    // a permutation of a permutation -> one
    {"permute_twice",
     [](Pattern& p) { return permuted(p, permuted(p, p.any("x"), "inner"), "outer"); },
     [](Match& m) -> std::optional<Value> {
       const std::vector<int64_t> inner = permutation(m, "inner");
       std::vector<int64_t> both = permutation(m, "outer");
       for (int64_t& axis : both) axis = inner[static_cast<size_t>(axis)];
       return emit_permutation(m["x"], both);
     },
     4},
    // a permutation that moves nothing -> x; that swaps two axes -> transpose, lower one first
    {"permute_short", [](Pattern& p) { return permuted(p, p.any("x"), "axes"); },
     [](Match& m) -> std::optional<Value> {
       const std::vector<int64_t> axes = permutation(m, "axes");
       int64_t moved = 0;
       for (size_t i = 0; i < axes.size(); ++i) moved += axes[i] != static_cast<int64_t>(i);
       const bool is_short =
           m.choice("axes") == 1 && moved == 2 && m.size("axes0").value() < m.size("axes1").value();
       if (moved > 2 || is_short) return std::nullopt;
       return emit_permutation(m["x"], axes);
     },
     2},
    // a permutation that only moves axes of size 1 -> view: no element moves (one-token decode)
    {"permute_ones", [](Pattern& p) { return permuted(p, p.any("x"), "axes"); },
     [](Match& m) -> std::optional<Value> {
       int64_t last = -1;
       for (const int64_t axis : permutation(m, "axes")) {
         if (m["x"].dim(axis).is_const(1)) continue;
         if (axis < last) return std::nullopt;
         last = axis;
       }
       return view(m["x"], m.root().shape());
     },
     2},
    // a view of a view -> one
    {"view_twice",
     [](Pattern& p) {
       const Value inner = p.op("aten::view", {p.any("x"), p.sizes("inner")});
       return p.op("aten::view", {inner, p.sizes("outer")});
     },
     [](Match& m) -> std::optional<Value> { return view(m["x"], m.root().shape()); }},
    // a view of what only added axes of size 1 -> a view of what is below
    {"view_of_unsqueeze",
     [](Pattern& p) {
       const Value inner = p.op("aten::unsqueeze", {p.any("x"), p.size("axis")});
       return p.op("aten::view", {inner, p.sizes("shape")});
     },
     [](Match& m) -> std::optional<Value> { return view(m["x"], m.root().shape()); }},
    // a view that only adds axes of size 1 -> unsqueeze, which needs no sizes at run time
    {"view_is_unsqueeze",
     [](Pattern& p) {
       return p.op("aten::view", {p.any("x"), p.sizes("shape")});
     },
     [](Match& m) -> std::optional<Value> { return unsqueezed(m["x"], m.root().shape()); }},
    // a size that is left to be found -> the size
    {"view_explicit",
     [](Pattern& p) {
       return p.op("aten::view", {p.any("x"), p.sizes("shape")});
     },
     [](Match& m) -> std::optional<Value> {
       if (m.sizes("shape") == m.root().shape()) return std::nullopt;
       return view(m["x"], m.root().shape());
     }},
    {"expand_explicit",
     [](Pattern& p) {
       return p.op("aten::expand", {p.any("x"), p.sizes("shape"), p.ignored()});
     },
     [](Match& m) -> std::optional<Value> {
       if (m.sizes("shape") == m.root().shape()) return std::nullopt;
       return expand(m["x"], m.root().shape());
     }},
    // one place of an axis, without the axis -> select
    {"slice_of_one",
     [](Pattern& p) {
       const Value one = p.op("aten::slice.Tensor",
                              {p.any("x"), p.size("axis"), p.size("from"), p.size("to"), 1});
       return p.op("aten::squeeze.dim", {one, p.size("axis")});
     },
     [](Match& m) -> std::optional<Value> {
       const Sym from = m.size("from"), to = m.size("to"), axis = m.size("axis");
       if (!axis.is_const() || !from.is_const() || !to.is_const() || from.value() < 0 ||
           to != from + 1 || m.root().rank() != m["x"].rank() - 1)
         return std::nullopt;
       return select(m["x"], axis.value(), from.value());
     }},
    // a view, expansion to the shape that is there -> x
    {"view_same",
     [](Pattern& p) {
       return p.op("aten::view", {p.any("x"), p.sizes("shape")});
     },
     give_x_of_equal_shape},
    {"expand_same",
     [](Pattern& p) {
       return p.op("aten::expand", {p.any("x"), p.sizes("shape")});
     },
     give_x_of_equal_shape},
    // a slice of everything -> x; with step 1, as many elements are all of them
    {"slice_whole",
     [](Pattern& p) {
       const OpArg start = p.choose("start", 2) == 0 ? none() : OpArg(p.size("from"));
       const OpArg end = p.choose("end", 2) == 0 ? none() : OpArg(p.size("to"));
       return p.op("aten::slice.Tensor", {p.any("x"), p.size("axis"), start, end, 1});
     },
     give_x_of_equal_shape, 4},
    // cat of one -> that one
    {"cat_one",
     [](Pattern& p) {
       return p.op("aten::cat", {std::vector<Value>{p.any("x")}, p.size("axis")});
     },
     give_x},
    // cat(f32[0], x) -> x where the empty vector does not count; a growing cache begins so
    {"cat_empty",
     [](Pattern& p) {
       const Value x = p.any("x"), empty = p.any("empty");
       const bool first = p.choose("order", 2) == 0;
       return p.op(
           "aten::cat",
           {first ? std::vector<Value>{empty, x} : std::vector<Value>{x, empty}, p.size("axis")});
     },
     [](Match& m) -> std::optional<Value> {
       const Value empty = m["empty"];
       if (empty.rank() != 1 || !empty.dim(0).is_const(0)) return std::nullopt;
       if (m["x"].type() != m.root().type()) return std::nullopt;
       return m["x"];
     },
     2},
    // squeeze undoes unsqueeze of the same axis, and the other way round
    {"squeeze_unsqueeze",
     [](Pattern& p) {
       const Value inner = p.op("aten::unsqueeze", {p.any("x"), p.size("axis")});
       return p.op("aten::squeeze.dim", {inner, p.size("axis")});
     },
     give_x},
    {"unsqueeze_squeeze",
     [](Pattern& p) {
       const Value inner = p.op("aten::squeeze.dim", {p.any("x"), p.size("axis")});
       return p.op("aten::unsqueeze", {inner, p.size("axis")});
     },
     give_x_of_equal_shape},
};

}  // namespace

std::span<const Rule> shape_identities() { return kRules; }

}  // namespace slipway

// Spellings: other names for permutations, views and joins.
#include <numeric>

#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

Values view_of(const Args& a, SymShape shape) { return {view(a.value(0), std::move(shape))}; }

/// `sources` moved to `targets`; the others keep their order.
Values moved(const Args& a, std::vector<int64_t> sources, std::vector<int64_t> targets) {
  const int64_t rank = rank_of(a);
  if (sources.size() != targets.size()) a.fail("source and destination differ in length");
  std::vector<int64_t> axes(static_cast<size_t>(rank), -1);
  std::vector<bool> used(static_cast<size_t>(rank), false);
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t from = normalize_axis(sources[i], rank), at = normalize_axis(targets[i], rank);
    if (axes[static_cast<size_t>(at)] >= 0 || used[static_cast<size_t>(from)])
      a.fail("an axis is repeated");
    axes[static_cast<size_t>(at)] = from;
    used[static_cast<size_t>(from)] = true;
  }
  int64_t next = 0;
  for (int64_t& axis : axes) {
    if (axis >= 0) continue;
    while (used[static_cast<size_t>(next)]) ++next;
    axis = next++;
  }
  return {permute(a.value(0), axes)};
}

Values swapped(const Args& a) { return {transpose(a.value(0), a.integer(1), a.integer(2))}; }

Values reversed(const Args& a) {
  std::vector<int64_t> axes(a.type(0).shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return {axes.size() < 2 ? a.value(0) : permute(a.value(0), axes)};
}

Values flatten(const Args& a) {
  const SymShape& shape = a.type(0).shape;
  if (shape.empty()) return view_of(a, {1});
  const auto first = static_cast<size_t>(a.axis(1, rank_of(a)));
  const auto last = static_cast<size_t>(a.axis(2, rank_of(a)));
  if (first > last) a.fail("start_dim is behind end_dim");
  SymShape out(shape.begin(), shape.begin() + static_cast<int64_t>(first));
  out.push_back(numel({shape.begin() + static_cast<int64_t>(first),
                       shape.begin() + static_cast<int64_t>(last) + 1}));
  out.insert(out.end(), shape.begin() + static_cast<int64_t>(last) + 1, shape.end());
  return view_of(a, std::move(out));
}

Values unflatten(const Args& a) {
  const SymShape& shape = a.type(0).shape;
  const int64_t axis = a.axis(1, rank_of(a));
  const SymShape parts = resolve_view(a, {shape[static_cast<size_t>(axis)]}, a.syms(2));
  SymShape out(shape.begin(), shape.begin() + axis);
  out.insert(out.end(), parts.begin(), parts.end());
  out.insert(out.end(), shape.begin() + axis + 1, shape.end());
  return view_of(a, std::move(out));
}

Values squeezed(const Args& a, const std::vector<int64_t>& axes) {
  Value x = a.value(0);
  for (size_t i = axes.size(); i-- > 0;)
    if (x.dim(axes[i]).is_const(1)) x = squeeze(x, axes[i]);
    else if (!known_ne(x.dim(axes[i]), 1))
      a.fail("the size " + x.dim(axes[i]).str() + " may or may not be 1");
  return {x};
}

Values squeeze_all(const Args& a) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank_of(a); ++i)
    if (!known_ne(a.value(0).dim(i), 1)) axes.push_back(i);
  return squeezed(a, axes);
}

Values stack(const Args& a) {
  std::vector<Value> parts;
  if (a.values(0).empty()) a.fail("needs at least one tensor");
  const int64_t axis = normalize_axis(a.integer(1), a.values(0)[0].rank() + 1);
  for (const Value part : a.values(0)) parts.push_back(unsqueeze(part, axis));
  return {cat(parts, axis)};
}

/// Tensors without dimensions count as vectors; vectors are joined along their only axis.
Values hstack(const Args& a) {
  std::vector<Value> parts;
  if (a.values(0).empty()) a.fail("needs at least one tensor");
  for (const Value part : a.values(0)) parts.push_back(part.rank() == 0 ? view(part, {1}) : part);
  return {cat(parts, parts[0].rank() == 1 ? 0 : 1)};
}

const OpRow kRows[] = {
    spelling("aten::numpy_T(Tensor(a) self) -> Tensor(a)", reversed),
    spelling("aten::mT(Tensor(a) self) -> Tensor(a)",
             [](const Args& a) -> Values { return {transpose(a.value(0), -2, -1)}; }),
    spelling("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", swapped),
    spelling("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swapped),
    spelling("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
             [](const Args& a) -> Values { return moved(a, {a.integer(1)}, {a.integer(2)}); }),
    spelling("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
             [](const Args& a) -> Values { return moved(a, a.integers(1), a.integers(2)); }),
    spelling("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> "
             "Tensor(a)",
             flatten),
    spelling("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
             unflatten),
    spelling("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
             [](const Args& a) -> Values { return view_of(a, a.type(1).shape); }),
    spelling("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
             [](const Args& a) -> Values { return view_of(a, a.type(1).shape); }),
    spelling("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
             [](const Args& a) -> Values { return view_of(a, a.syms(1)); }),
    spelling("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
             [](const Args& a) -> Values { return {expand(a.value(0), a.type(1).shape)}; }),
    spelling("aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze_all),
    spelling("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
             [](const Args& a) -> Values {
               return a.syms(1).empty() ? Values{a.value(0)} : squeezed(a, a.axes(1, rank_of(a)));
             }),
    spelling("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
             [](const Args& a) -> Values {
               const Sym at = a.sym(2), size = a.value(0).dim(a.integer(1));
               const Sym start = at.is_const() && at.value() < 0 ? at + size : at;
               return {slice(a.value(0), a.integer(1), start, start + a.sym(3))};
             }),
    spelling("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", stack),
    spelling("aten::hstack(Tensor[] tensors) -> Tensor", hstack),
    spelling("aten::concat(Tensor[] tensors, int dim=0) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::cat", a.values(0), a.sym(1))}; }),
    spelling("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor",
             [](const Args& a) -> Values { return {emit(a, "aten::cat", a.values(0), a.sym(1))}; }),
};

}  // namespace

std::span<const OpRow> spellings_shape() { return kRows; }

}  // namespace slipway::ops

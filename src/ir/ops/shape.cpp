// Views, permutations, joining and slicing.
#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

int64_t rank_of(const Args& a) { return static_cast<int64_t>(a.type(0).shape.size()); }

std::vector<ValueType> view(const Args& a) {
  return {{a.type(0).dtype, resolve_view(a, a.type(0).shape, a.syms(1))}};
}

std::vector<ValueType> permute(const Args& a) {
  const SymShape& shape = a.type(0).shape;
  std::vector<int64_t> axes;
  SymShape out;
  for (const int64_t d : a.integers(1)) {
    axes.push_back(normalize_axis(d, rank_of(a)));
    out.push_back(shape[static_cast<size_t>(axes.back())]);
  }
  std::sort(axes.begin(), axes.end());
  if (axes.size() != shape.size() || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    a.fail("dims must name every axis once");
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> transpose(const Args& a) {
  SymShape out = a.type(0).shape;
  std::swap(out[static_cast<size_t>(a.axis(1, rank_of(a)))],
            out[static_cast<size_t>(a.axis(2, rank_of(a)))]);
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> matrix_transpose(const Args& a) {
  SymShape out = a.type(0).shape;
  if (out.size() > 2) a.fail("needs a tensor of rank at most 2");
  std::reverse(out.begin(), out.end());
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> unsqueeze(const Args& a) {
  SymShape out = a.type(0).shape;
  out.insert(out.begin() + normalize_axis(a.integer(1), rank_of(a) + 1), Sym(1));
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> squeeze(const Args& a) {
  SymShape out = a.type(0).shape;
  const int64_t axis = a.axis(1, rank_of(a));
  const Sym size = out[static_cast<size_t>(axis)];
  if (size.is_const(1)) out.erase(out.begin() + axis);
  else if (!known_ne(size, 1)) a.fail(fmt::format("the size {} may or may not be 1", size.str()));
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> expand(const Args& a) {
  const SymShape& from = a.type(0).shape;
  SymShape out = a.syms(1);
  if (out.size() < from.size()) a.fail("needs at least as many sizes as the tensor has");
  const size_t lead = out.size() - from.size();
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < lead) continue;
    const Sym have = from[i - lead];
    if (out[i].is_const(-1)) out[i] = have;
    else if (!have.is_const(1)) require_equal(a, have, out[i], "an expanded size");
  }
  return {{a.type(0).dtype, out}};
}

std::vector<ValueType> cat(const Args& a) {
  const std::vector<Value> parts = joined_parts(a);
  if (parts.empty()) a.fail("needs at least one tensor");
  ValueType out = parts[0].type();
  const auto axis = static_cast<size_t>(a.axis(1, parts[0].rank()));
  for (size_t p = 1; p < parts.size(); ++p) {
    const SymShape& shape = parts[p].shape();
    if (shape.size() != out.shape.size()) a.fail("the tensors differ in rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis) out.shape[i] = out.shape[i] + shape[i];
      else require_equal(a, shape[i], out.shape[i], "a joined tensor's other size");
    }
  }
  for (const Value part : a.values(0)) out.dtype = promote(out.dtype, part.dtype());
  return {out};
}

/// Clamps a slice bound as Python does; what is negative for all sizes counts from the end.
Sym clamp_bound(Sym at, Sym size) {
  if (at.bounds().hi < 0) return max(size + at, 0);
  return min(at, size);
}

std::vector<ValueType> slice(const Args& a) {
  ValueType out = a.type(0);
  const auto axis = static_cast<size_t>(a.axis(1, rank_of(a)));
  const int64_t step = a.integer(4);
  if (step < 1) a.fail("step must be at least 1");
  const Sym size = out.shape[axis];
  const Sym start = clamp_bound(a.has(2) ? a.sym(2) : Sym(0), size);
  const Sym end = clamp_bound(a.has(3) ? a.sym(3) : size, size);
  out.shape[axis] = floordiv(max(end - start, 0) + (step - 1), step);
  return {out};
}

std::vector<ValueType> select(const Args& a) {
  ValueType out = a.type(0);
  const int64_t axis = a.axis(1, rank_of(a));
  const Sym size = out.shape[static_cast<size_t>(axis)], index = a.sym(2);
  if (known_le(size, index) || known_le(index + size, -1))
    a.fail(fmt::format("index {} is outside a size of {}", index.str(), size.str()));
  out.shape.erase(out.shape.begin() + axis);
  return {out};
}

const OpRow kRows[] = {
    {.schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
     .infer = view,
     .eval = eval::view,
     .traits = kView},
    {.schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
     .infer = view,
     .eval = eval::view,
     .traits = kView},
    {.schema = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
     .infer = permute,
     .eval = eval::permute,
     .traits = kView},
    {.schema = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     .infer = transpose,
     .eval = eval::transpose,
     .traits = kView},
    {.schema = "aten::t(Tensor(a) self) -> Tensor(a)",
     .infer = matrix_transpose,
     .eval = eval::matrix_transpose,
     .traits = kView},
    {.schema = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
     .infer = unsqueeze,
     .eval = eval::relabel,
     .traits = kView},
    {.schema = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
     .infer = squeeze,
     .eval = eval::relabel,
     .traits = kView},
    {.schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     .infer = expand,
     .eval = eval::expand,
     .traits = kView},
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", .infer = cat, .eval = eval::cat},
    {.schema = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
               "SymInt? end=None, SymInt step=1) -> Tensor(a)",
     .infer = slice,
     .eval = eval::slice,
     .traits = kView},
    {.schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .infer = select,
     .eval = eval::select,
     .traits = kView},
};

}  // namespace

std::span<const OpRow> shape() { return kRows; }

}  // namespace slipway::ops

// Spellings: cutting into pieces, repeating, replacing pieces.
#include "ir/ops/bodies.h"
#include "ir/ops/families.h"

namespace slipway::ops {
namespace {

/// The size of the axis that is cut, which must be a number: it decides how many pieces there are.
int64_t fixed_size(const Args& a, int64_t axis) {
  const Sym size = a.value(0).dim(axis);
  if (!size.is_const())
    a.fail("the size " + size.str() + " decides how many pieces there are; give it a number");
  return size.value();
}

Values pieces(const Args& a, int64_t axis, const std::vector<Sym>& sizes) {
  Values parts;
  Sym start = 0;
  for (const Sym size : sizes) {
    parts.push_back(slice(a.value(0), axis, start, start + size));
    start = start + size;
  }
  return parts;
}

/// Pieces of one size; the last may be smaller.
Values equal_pieces(const Args& a, int64_t axis, Sym each) {
  const Sym whole = a.value(0).dim(axis);
  if (whole == each) return {a.value(0)};
  if (!each.is_const()) {  // as in split(x, x.size(0) // 2): how often it fits must be a number
    const Sym count = floordiv(whole + each - 1, each);
    if (!count.is_const()) a.fail("needs a fixed number of pieces");
    std::vector<Sym> sizes(static_cast<size_t>(count.value()), each);
    sizes.back() = whole - each * (count - 1);
    return pieces(a, axis, sizes);
  }
  const int64_t total = fixed_size(a, axis), size = each.value();
  if (size < 0 || (size == 0 && total != 0)) a.fail("needs pieces of at least one element");
  std::vector<Sym> sizes;
  for (int64_t at = 0; at < total; at += size) sizes.emplace_back(std::min(size, total - at));
  if (sizes.empty()) sizes.emplace_back(0);
  return pieces(a, axis, sizes);
}

Values split(const Args& a) { return equal_pieces(a, a.axis(2, rank_of(a)), a.sym(1)); }

Values split_sizes(const Args& a) {
  const int64_t axis = a.axis(2, rank_of(a));
  Sym total = 0;
  for (const Sym size : a.syms(1)) total = total + size;
  require_equal(a, total, a.value(0).dim(axis), "the sum of the sizes");
  return pieces(a, axis, a.syms(1));
}

Values chunk(const Args& a) {
  const int64_t axis = a.axis(2, rank_of(a)), chunks = a.integer(1);
  if (chunks < 1) a.fail("needs at least one chunk");
  if (chunks == 1) return {a.value(0)};
  const Sym size = a.value(0).dim(axis);
  if (size.is_const(0)) return pieces(a, axis, std::vector<Sym>(static_cast<size_t>(chunks), 0));
  return equal_pieces(a, axis, floordiv(size + (chunks - 1), chunks));
}

/// The first `size % sections` pieces are one larger.
Values tensor_split(const Args& a) {
  const int64_t axis = a.axis(2, rank_of(a)), sections = a.integer(1);
  if (sections < 1) a.fail("needs at least one section");
  const int64_t total = fixed_size(a, axis);
  std::vector<Sym> sizes;
  for (int64_t i = 0; i < sections; ++i)
    sizes.emplace_back(total / sections + (i < total % sections ? 1 : 0));
  return pieces(a, axis, sizes);
}

Values unbind(const Args& a) {
  const int64_t axis = a.axis(1, rank_of(a)), count = fixed_size(a, axis);
  Values parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(select(a.value(0), axis, i));
  return parts;
}

/// Each axis becomes [times, size], seen as one.
Values repeat(const Args& a) {
  const std::vector<Sym>& times = a.syms(1);
  const SymShape& shape = a.type(0).shape;
  if (times.size() < shape.size()) a.fail("needs a number for every axis");
  const size_t lead = times.size() - shape.size();
  SymShape apart, wide, out;
  for (size_t i = 0; i < times.size(); ++i) {
    const Sym size = i < lead ? Sym(1) : shape[i - lead];
    out.push_back(times[i] * size);
    if (!times[i].is_const(1)) {
      apart.emplace_back(1);
      wide.push_back(times[i]);
    }
    apart.push_back(size);
    wide.push_back(size);
  }
  Value x = a.value(0);
  if (apart != shape) x = view(x, apart);
  if (wide != apart) x = expand(x, wide);
  return {x.shape() == out ? x : view(x, out)};
}

Values repeat_interleave(const Args& a) {
  Value x = a.value(0);
  if (!a.has(2)) x = view(x, {numel(x.shape())});
  const int64_t axis = a.has(2) ? a.axis(2, x.rank()) : 0;
  if (a.sym(1).is_const(1)) return {x};
  SymShape wide = x.shape(), out = x.shape();
  wide.insert(wide.begin() + axis + 1, a.sym(1));
  out[static_cast<size_t>(axis)] = out[static_cast<size_t>(axis)] * a.sym(1);
  return {view(expand(unsqueeze(x, axis + 1), wide), out)};
}

/// The last `shift` elements come first; without axes the whole tensor is one line.
Values roll(const Args& a) {
  const bool line = a.syms(2).empty();
  Value x = line ? view(a.value(0), {numel(a.type(0).shape)}) : a.value(0);
  const std::vector<int64_t> axes = line ? std::vector<int64_t>{0} : a.integers(2);
  if (axes.size() != a.syms(1).size()) a.fail("shifts and dims differ in length");
  for (size_t i = 0; i < axes.size(); ++i) {
    const Sym size = x.dim(axes[i]), shift = a.syms(1)[i];
    if (size.is_const(0) || shift.is_const(0)) continue;
    const Sym front = size - mod(shift, size);
    x = cat({slice(x, axes[i], front, size), slice(x, axes[i], 0, front)}, axes[i]);
  }
  return {line ? view(x, a.type(0).shape) : x};
}

/// What lies before and behind the replaced elements [start, end) of an axis, around them.
Values replaced(const Args& a, int64_t axis, Sym start, Sym end, Value middle) {
  const Value x = a.value(0);
  Values parts;
  if (!start.is_const(0)) parts.push_back(slice(x, axis, 0, start));
  parts.push_back(to(middle, x.dtype()));
  if (end != x.dim(axis)) parts.push_back(slice(x, axis, end, x.dim(axis)));
  return {parts.size() == 1 ? parts[0] : cat(parts, axis)};
}

Sym from_front(Sym at, Sym size) {
  if (at.is_const() && at.value() < 0) return max(at + size, 0);
  return min(at, size);
}

Values slice_scatter(const Args& a) {
  const int64_t axis = a.axis(2, rank_of(a));
  const Sym size = a.value(0).dim(axis);
  if (!a.sym(5).is_const(1)) throw Error(kUnsupported, "[ir] aten::slice_scatter: need step=1");
  const Sym start = from_front(a.has(3) ? a.sym(3) : Sym(0), size);
  const Sym end = from_front(a.has(4) ? a.sym(4) : size, size);
  SymShape middle = a.type(0).shape;
  middle[static_cast<size_t>(axis)] = max(end - start, 0);
  const Value src = a.type(1).shape == middle ? a.value(1) : expand(a.value(1), middle);
  return replaced(a, axis, start, max(end, start), src);
}

Values select_scatter(const Args& a) {
  const int64_t axis = a.axis(2, rank_of(a));
  const Sym size = a.value(0).dim(axis), index = a.sym(3);
  const Sym at = index.is_const() && index.value() < 0 ? index + size : index;
  SymShape one = a.type(0).shape;
  one.erase(one.begin() + axis);
  const Value src = a.type(1).shape == one ? a.value(1) : expand(a.value(1), one);
  return replaced(a, axis, at, at + 1, unsqueeze(src, axis));
}

/// [batch..., channels r r, height, width] -> [batch..., channels, height r, width r].
Values pixel_shuffle(const Args& a) {
  const Value x = a.value(0);
  const int64_t r = a.integer(1), rank = x.rank();
  if (rank < 3 || r < 1) a.fail("needs [channels, height, width] and a factor of at least 1");
  const Sym channels = floordiv(x.dim(-3), r * r);
  if (known_ne(channels * (r * r), x.dim(-3))) a.fail("the channels do not divide by the factor");
  const SymShape lead(x.shape().begin(), x.shape().end() - 3);
  SymShape apart = lead, out = lead;
  for (const Sym size : {channels, Sym(r), Sym(r), x.dim(-2), x.dim(-1)}) apart.push_back(size);
  for (const Sym size : {channels, x.dim(-2) * r, x.dim(-1) * r}) out.push_back(size);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank - 3; ++i) axes.push_back(i);
  for (const int64_t i : {0, 3, 1, 4, 2}) axes.push_back(rank - 3 + i);
  return {view(permute(view(x, apart), axes), out)};
}

/// Every vector along its own axis of one grid; "xy" swaps the first two axes.
Values meshgrid(const Args& a) {
  const std::vector<Value>& vectors = a.values(0);
  const std::string& order = a.text(1);
  if (order != "ij" && order != "xy") a.fail("indexing must be 'ij' or 'xy'");
  SymShape grid;
  for (const Value v : vectors) {
    if (v.rank() > 1) a.fail("needs vectors");
    grid.push_back(v.rank() == 1 ? v.dim(0) : Sym(1));
  }
  std::vector<size_t> axis(vectors.size());
  for (size_t i = 0; i < axis.size(); ++i) axis[i] = i;
  if (order == "xy" && axis.size() > 1) {
    std::swap(axis[0], axis[1]);
    std::swap(grid[0], grid[1]);
  }
  Values results;
  for (size_t i = 0; i < vectors.size(); ++i) {
    SymShape own(grid.size(), Sym(1));
    own[axis[i]] = grid[axis[i]];
    results.push_back(expand(view(vectors[i], own), grid));
  }
  return results;
}

/// True places take the source's elements in order.
Values masked_scatter(const Args& a) {
  const Value self = a.value(0);
  const Value mask =
      a.type(1).shape == self.shape() ? a.value(1) : expand(a.value(1), self.shape());
  if (mask.dtype() != DType::kBool) a.fail("the mask must be bool");
  if (a.type(2).dtype != self.dtype()) a.fail("self and source differ in dtype");
  const Value line = view(mask, {numel(self.shape())});
  const Value place = add(cumsum(to(line, DType::kI64), 0), -1);
  const Value inside = emit(a, "aten::clamp", place, Sym(0));
  const Value source = view(a.value(2), {numel(a.type(2).shape)});
  const Value taken = view(emit(a, "aten::index_select", source, Sym(0), inside), self.shape());
  return {where(mask, taken, self)};
}

const OpRow kRows[] = {
    spelling("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", pixel_shuffle),
    spelling("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid),
    written("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
            masked_scatter),
    spelling("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunk),
    spelling("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> "
             "Tensor(a)[]",
             split),
    spelling("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
             split),
    spelling("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
             "Tensor(a)[]",
             split_sizes),
    spelling("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> "
             "Tensor(a)[]",
             split_sizes),
    spelling("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind),
    spelling("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> "
             "Tensor(a)[]",
             tensor_split),
    spelling("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeat),
    spelling("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
             "SymInt? output_size=None) -> Tensor",
             repeat_interleave),
    spelling("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", roll),
    spelling("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "
             "SymInt? end=None, SymInt step=1) -> Tensor",
             slice_scatter),
    spelling("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
             select_scatter),
};

}  // namespace

std::span<const OpRow> spellings_pieces() { return kRows; }

}  // namespace slipway::ops

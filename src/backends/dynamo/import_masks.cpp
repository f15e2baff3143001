// Writes through masks.
#include "backends/dynamo/import_masks.h"

#include "ir/build.h"

namespace slipway::dynamo {
namespace {

/// Sizes of 1 for `before` axes, `middle`, sizes of 1 for `after` axes.
SymShape around(size_t before, SymShape middle, size_t after) {
  middle.insert(middle.begin(), before, Sym(1));
  middle.insert(middle.end(), after, Sym(1));
  return middle;
}

}  // namespace

std::optional<Value> masked_write(const Op& op, const std::vector<Arg>& args) {
  if (op.name() != "aten::index_put") return std::nullopt;
  const Args a(op, args);
  const std::vector<Value>& indices = a.values(1);
  size_t before = 0, given = 0;
  Value mask;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) continue;
    ++given;
    if (indices[i].dtype() != DType::kBool) continue;
    mask = indices[i];
    before = i;
  }
  if (!mask.defined()) return std::nullopt;
  if (given > 1)
    throw Error(kUnsupported,
                "[pt2] index_put by a mask beside other indices: write through the "
                "mask alone, or use torch.where in the model");
  const Value self = a.value(0);
  const auto rank = static_cast<size_t>(self.rank()), masked = static_cast<size_t>(mask.rank());
  if (before + masked > rank) a.fail("the mask has more axes than the tensor");
  const size_t after = rank - before - masked;
  mask = expand(view(mask, around(before, mask.shape(), after)), self.shape());
  Value values = to(a.value(2), self.dtype());
  // Values are [before, how many the mask picks, after], from the right, and each axis may be 1.
  SymShape shape = values.shape();
  if (shape.size() > after) {
    const size_t picked = shape.size() - after - 1;
    if (!shape[picked].is_const(1)) {
      if (before > 0 || picked > 0 || a.flag(3))
        throw Error(kUnsupported,
                    "[pt2] index_put of as many values as a mask picks: only without "
                    "axes in front of the mask and without accumulate");
      SymShape whole(self.shape().begin() + static_cast<int64_t>(masked), self.shape().end());
      whole.insert(whole.begin(), shape[0]);
      if (whole != shape) values = expand(values, whole);
      return self.graph().emit("aten::masked_scatter", {self, mask, values});
    }
    shape.erase(shape.begin() + static_cast<int64_t>(picked));
    shape.insert(shape.begin() + static_cast<int64_t>(picked), masked, Sym(1));
    values = view(values, shape);
  }
  return where(mask, a.flag(3) ? self + values : values, self);
}

}  // namespace slipway::dynamo

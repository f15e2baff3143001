// How results lie in memory when torch runs a graph.
#include "backends/dynamo/strides.h"

namespace slipway::dynamo {
namespace {

size_t axis_of(const Args& a, size_t argument, size_t rank) {
  return static_cast<size_t>(a.axis(argument, static_cast<int64_t>(rank)));
}

SymShape expanded(const Args& a, SymShape strides, const SymShape& result) {
  const SymShape& shape = a.type(0).shape;
  SymShape out(result.size(), 0);
  const size_t fresh = result.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == result[fresh + i]) out[fresh + i] = strides[i];
  return out;
}

SymShape permuted(const Args& a, const SymShape& strides) {
  SymShape out;
  for (const int64_t axis : a.integers(1))
    out.push_back(
        strides[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(strides.size())))]);
  return out;
}

}  // namespace

SymShape contiguous_strides(const SymShape& shape) {
  SymShape strides(shape.size());
  Sym step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = step * max(shape[i], 1);
  }
  return strides;
}

SymShape strides_of(const Node& node, const std::function<const SymShape&(Value)>& of) {
  const std::string& op = node.op->name();
  const SymShape& shape = node.types[0].shape;
  if (!node.op->has(kView) || op == "aten::reshape" || op == "aten::view")
    return contiguous_strides(shape);
  const Args a = node.arguments();
  SymShape strides = of(a.value(0));
  const size_t rank = strides.size();
  if (op == "aten::permute") return permuted(a, strides);
  if (op == "aten::expand") return expanded(a, std::move(strides), shape);
  if (op == "aten::t") return rank < 2 ? strides : SymShape{strides[1], strides[0]};
  if (op == "aten::transpose.int") {
    std::swap(strides[axis_of(a, 1, rank)], strides[axis_of(a, 2, rank)]);
    return strides;
  }
  const auto at = [&](size_t axis) { return strides.begin() + static_cast<int64_t>(axis); };
  if (op == "aten::unsqueeze") {
    const size_t axis = axis_of(a, 1, rank + 1);
    const SymShape& before = a.type(0).shape;
    strides.insert(at(axis), axis < rank ? before[axis] * strides[axis] : Sym(1));
    return strides;
  }
  if (op == "aten::slice.Tensor") {
    const size_t axis = axis_of(a, 1, rank);
    strides[axis] = strides[axis] * a.sym(4);
    return strides;
  }
  if (op == "aten::select.int" || op == "aten::squeeze.dim") {
    if (shape.size() < rank) strides.erase(at(axis_of(a, 1, rank)));
    return strides;
  }
  return contiguous_strides(shape);
}

}  // namespace slipway::dynamo

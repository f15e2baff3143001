// Lowering: the notation of ExecuTorch's kernels.
#include "backends/executorch/lower.h"

#include <fmt/format.h>

#include "backends/executorch/lower_state.h"
#include "checkpoint/expr.h"
#include "ir/ops/infer.h"

namespace slipway::executorch {
namespace {

std::vector<Sym> syms(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

bool all_known(const SymShape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](Sym s) { return s.is_const(); });
}

Shape known(const SymShape& shape) {
  Shape result;
  for (const Sym s : shape) result.push_back(s.value());
  return result;
}

bool is_stored(const Node* node) {
  return node->kind == NodeKind::kWeight && node->data != nullptr;
}

}  // namespace

Lower::Lower(LowerState& state, Node& source) : NodeLowering(state, source), state_(state) {}

Value Lower::operand(size_t i, DType dtype) {
  if (std::holds_alternative<Value>(args()[i])) return in(i, dtype);
  if (const auto* s = std::get_if<Sym>(&args()[i]); s != nullptr && !s->is_const())
    return typed("et::scalar_tensor.out", {*s}, {dtype, {}});
  return scalar(args().number(i), dtype);
}

Value Lower::cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : typed("et::_to_copy.out", {x}, {dtype, x.shape()});
}

Value Lower::reshape(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  const Node& node = *x.node();
  if (is_stored(&node) && all_known(shape)) {
    Value& result = state_.reshaped[{&node, known(shape)}];
    if (!result.defined()) {
      const ScopeGuard scope(state_.target, node.scope);
      result = state_.weight(node.name, lazy_reshape(node.data, known(shape)));
    }
    return result;
  }
  if (node.kind == NodeKind::kConstant && all_known(shape))
    return state_.constant(lazy_reshape(node.data, known(shape)));
  return typed("et::view_copy.out", {x, shape}, {x.dtype(), shape});
}

Value Lower::unsqueeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return reshape(x, shape);
}

Value Lower::squeeze(Value x, int64_t axis) {
  SymShape shape = x.shape();
  shape.erase(shape.begin() + axis);
  return reshape(x, shape);
}

Value Lower::permute(Value x, const std::vector<int64_t>& axes) {
  bool moves = false;
  SymShape shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    moves = moves || axes[i] != static_cast<int64_t>(i);
    shape.push_back(x.dim(axes[i]));
  }
  if (!moves) return x;
  if (x.rank() == 2 && is_stored(x.node())) return turned(x);
  return typed("et::permute_copy.out", {x, syms(axes)}, {x.dtype(), shape});
}

Value Lower::expand(Value x, const SymShape& shape) {
  if (x.shape() == shape) return x;
  return typed("et::expand_copy.out", {x, shape}, {x.dtype(), shape});
}

Value Lower::slice(Value x, int64_t axis, Sym start, Sym end, int64_t step, const ValueType& type) {
  const Sym size = x.dim(axis);
  const bool to_end = end == size || (end.is_const() && end.value() == Sym::kUnbounded);
  if (start.is_const(0) && to_end && step == 1) return x;
  return typed("et::slice_copy.Tensor_out",
               {x, axis, start, to_end ? Sym(Sym::kUnbounded) : end, step}, type);
}

Value Lower::corner(Value x, const SymShape& shape) {
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Sym wanted = shape[static_cast<size_t>(axis)];
    if (x.dim(axis) == wanted) continue;
    ValueType type = x.type();
    type.shape[static_cast<size_t>(axis)] = wanted;
    x = slice(x, axis, 0, wanted, 1, type);
  }
  return x;
}

Value Lower::gather(Value x, Value indices, int64_t axis) {
  SymShape shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  const ValueType type{x.dtype(), shape};
  if (axis == 0 && x.rank() == 2) return typed("et::embedding.out", {x, indices}, type);
  if (indices.rank() == 1) return typed("et::index_select.out", {x, axis, indices}, type);
  SymShape flat = shape;
  flat.erase(flat.begin() + axis, flat.begin() + axis + indices.rank());
  flat.insert(flat.begin() + axis, numel(indices.shape()));
  const Value line = reshape(indices, {numel(indices.shape())});
  return reshape(typed("et::index_select.out", {x, axis, line}, {x.dtype(), flat}), shape);
}

Value Lower::concat(const std::vector<Value>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  ValueType type = parts[0].type();
  Sym& size = type.shape[static_cast<size_t>(axis)];
  for (size_t i = 1; i < parts.size(); ++i) size = size + parts[i].dim(axis);
  return typed("et::cat.out", {parts, axis}, type);
}

/// A stored matrix turned around. What was turned already is the matrix that it was.
Value Lower::turned(Value matrix) {
  const Node* node = matrix.node();
  if (const auto at = state_.turned.find(node); at != state_.turned.end()) return at->second;
  const ScopeGuard scope(state_.target, node->scope);
  const Value result = state_.weight(node->name, lazy_transpose2d(node->data));
  state_.turned[result.node()] = matrix;
  return state_.turned[node] = result;
}

Value Lower::entry(Value x, int64_t index) {
  const Node* node = x.node();
  const bool turns = node->kind == NodeKind::kOp && node->op->name() == "et::permute_copy.out" &&
                     node->arguments().integers(1) == std::vector<int64_t>{0, 2, 1};
  if (turns) node = node->arguments().value(0).node();
  if (!is_stored(node) || x.rank() != 3) return {};
  Value& matrix = state_.entries[{node, index}];
  if (!matrix.defined()) {
    const Shape& shape = node->data->shape();
    const ScopeGuard scope(state_.target, node->scope);
    matrix =
        state_.weight(fmt::format("{}.{}", node->name, index),
                      lazy_reshape(lazy_slice(node->data, index, index + 1), {shape[1], shape[2]}));
  }
  return turns ? turned(matrix) : matrix;
}

Value Lower::matmul(Value a, Value b) {
  if (a.rank() == 1) {
    const Value product = matmul(unsqueeze(a, 0), b);
    return squeeze(product, product.rank() - (b.rank() == 1 ? 1 : 2));
  }
  if (b.rank() == 1) {
    const Value product = matmul(a, unsqueeze(b, 1));
    return squeeze(product, product.rank() - 1);
  }
  const DType d = a.dtype();
  const Sym rows = a.dim(-2), columns = b.dim(-1);
  if (b.rank() == 2 && is_stored(b.node())) {
    SymShape shape(a.shape().begin(), a.shape().end() - 1);
    shape.push_back(columns);
    return typed("et::linear.out", {a, turned(b)}, {d, shape});
  }
  if (b.rank() == 2) {
    SymShape shape(a.shape().begin(), a.shape().end() - 1);
    const Sym count = numel(shape);
    shape.push_back(columns);
    const Value product =
        typed("et::mm.out", {reshape(a, {count, a.dim(-1)}), b}, {d, {count, columns}});
    return reshape(product, shape);
  }
  SymShape shape = ops::broadcast({a.shape().begin(), a.shape().end() - 2},
                                  {b.shape().begin(), b.shape().end() - 2});
  shape.push_back(rows);
  shape.push_back(columns);
  const auto as_long = [&](Value x) {  // delegates want both sides of one rank
    SymShape s = x.shape();
    s.insert(s.begin(), shape.size() - s.size(), Sym(1));
    return reshape(x, s);
  };
  return typed("et::matmul", {as_long(a), as_long(b)}, {d, shape});
}

Value Lower::matmul_transposed(Value a, Value b) {
  SymShape shape = ops::broadcast({a.shape().begin(), a.shape().end() - 2},
                                  {b.shape().begin(), b.shape().end() - 2});
  shape.push_back(a.dim(-2));
  shape.push_back(b.dim(-2));
  return typed("et::matmul", {a, b, named("transpose_b", true)}, {a.dtype(), shape});
}

}  // namespace slipway::executorch

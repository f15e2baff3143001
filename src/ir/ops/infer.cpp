// Shared shape-and-dtype functions of op rows.
#include "ir/ops/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/graph.h"

namespace slipway::ops {
namespace {

int category(DType d) { return d == DType::kBool ? 0 : is_integral(d) ? 1 : 2; }

}  // namespace

SymShape broadcast(const SymShape& a, const SymShape& b) {
  const size_t rank = std::max(a.size(), b.size());
  SymShape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Sym x = i + a.size() >= rank ? a[i + a.size() - rank] : Sym(1);
    const Sym y = i + b.size() >= rank ? b[i + b.size() - rank] : Sym(1);
    if (x == y || y.is_const(1)) out[i] = x;
    else if (x.is_const(1)) out[i] = y;
    else
      throw Error(kInvalid, fmt::format("[ir] shapes {} and {} do not broadcast: {} is not {}",
                                        shape_string(a), shape_string(b), x.str(), y.str()));
  }
  return out;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    const bool halves = itemsize(a) == 2 && itemsize(b) == 2;  // f16 with bf16
    if (halves) return DType::kF32;
    return itemsize(a) > itemsize(b) ? a : b;
  }
  if (itemsize(a) == itemsize(b)) return DType::kI64;  // signed with unsigned of one width
  return itemsize(a) > itemsize(b) ? a : b;
}

DType promote(const ValueType& a, const ValueType& b) {
  if (a.shape.empty() != b.shape.empty()) {
    const DType whole = a.shape.empty() ? b.dtype : a.dtype;
    const DType one = a.shape.empty() ? a.dtype : b.dtype;
    if (category(one) <= category(whole)) return whole;
  }
  return promote(a.dtype, b.dtype);
}

DType promote_scalar(DType tensor, const Arg& scalar) {
  if (std::holds_alternative<double>(scalar)) return to_floating(tensor);
  if (std::holds_alternative<Sym>(scalar) && tensor == DType::kBool) return DType::kI64;
  return tensor;
}

DType to_floating(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }

std::vector<ValueType> same_as_self(const Args& a) { return {a.type(0)}; }

std::vector<ValueType> floating_as_self(const Args& a) {
  return {{to_floating(a.type(0).dtype), a.type(0).shape}};
}

std::vector<ValueType> binary(const Args& a) {
  return {{promote(a.type(0), a.type(1)), broadcast(a.type(0).shape, a.type(1).shape)}};
}

std::vector<ValueType> comparison_of_two(const Args& a) {
  return {{DType::kBool, broadcast(a.type(0).shape, a.type(1).shape)}};
}

std::vector<ValueType> with_scalar(const Args& a) {
  return {{promote_scalar(a.type(0).dtype, a[1]), a.type(0).shape}};
}

std::vector<ValueType> bool_as_self(const Args& a) { return {{DType::kBool, a.type(0).shape}}; }

SymShape reduced(const SymShape& shape, const std::vector<int64_t>& axes, bool keepdim) {
  SymShape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool drop = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!drop) out.push_back(shape[i]);
    else if (keepdim) out.emplace_back(1);
  }
  return out;
}

std::vector<Value> joined_parts(const Args& a) {
  const std::vector<Value>& all = a.values(0);
  const auto empty = [](Value v) { return v.rank() == 1 && v.dim(0).is_const(0); };
  std::vector<Value> parts;
  for (const Value v : all)
    if (!empty(v)) parts.push_back(v);
  return parts.empty() || parts[0].rank() == 1 ? all : parts;
}

SymShape resolve_view(const Args& a, const SymShape& from, const SymShape& wanted) {
  SymShape out = wanted;
  Sym known = 1;
  int hole = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_const(-1)) {
      known = known * out[i];
      continue;
    }
    if (hole >= 0) a.fail("more than one -1 in the shape");
    hole = static_cast<int>(i);
  }
  const Sym total = numel(from);
  if (hole >= 0) {
    if (known.is_const(0)) a.fail("cannot infer -1 beside a size of 0");
    if (total.is_const() && known.is_const() && total.value() % known.value() != 0)
      a.fail(fmt::format("cannot view {} as {}: {} elements do not divide by {}",
                         shape_string(from), shape_string(wanted), total.str(), known.str()));
    out[static_cast<size_t>(hole)] = floordiv(total, known);
  } else if (known_ne(known, total)) {
    a.fail(fmt::format("cannot view {} as {}: {} and {} elements", shape_string(from),
                       shape_string(wanted), total.str(), known.str()));
  }
  return out;
}

SymShape matmul_shape(const Args& a, const SymShape& left, const SymShape& right) {
  if (left.empty() || right.empty()) a.fail("a scalar cannot be matrix-multiplied");
  SymShape l = left, r = right;
  if (left.size() == 1) l.insert(l.begin(), 1);
  if (right.size() == 1) r.emplace_back(1);
  require_equal(a, l.back(), r[r.size() - 2], "the inner size");
  SymShape out = broadcast({l.begin(), l.end() - 2}, {r.begin(), r.end() - 2});
  if (left.size() > 1) out.push_back(l[l.size() - 2]);
  if (right.size() > 1) out.push_back(r.back());
  return out;
}

std::vector<ValueType> body_types(const Args& a) {
  Graph graph;
  const auto stand_in = [&](Value v) {
    return graph.add_input(std::to_string(graph.inputs().size()), v.type());
  };
  std::vector<Arg> args;
  for (size_t i = 0; i < a.size(); ++i) {
    Arg arg = a[i];
    if (auto* v = std::get_if<Value>(&arg)) *v = stand_in(*v);
    if (auto* list = std::get_if<std::vector<Value>>(&arg))
      for (Value& v : *list)
        if (v.defined()) v = stand_in(v);
    args.push_back(std::move(arg));
  }
  std::vector<ValueType> types;
  for (const Value v : a.op().row.body(Args(a.op(), args, &graph))) types.push_back(v.type());
  return types;
}

void require_equal(const Args& a, Sym got, Sym need, std::string_view what) {
  if (got == need || !known_ne(got, need)) return;
  a.fail(fmt::format("{} is {}, need {}", what, got.str(), need.str()));
}

}  // namespace slipway::ops

// Notation for rows that are no more than their body.
#pragma once

#include <string_view>
#include <vector>

#include "ir/build.h"
#include "ir/ops/infer.h"

namespace slipway::ops {

using Values = std::vector<Value>;
using Body = Values (*)(const Args&);

/// An op that front ends replace by its body at once.
constexpr OpRow spelling(std::string_view schema, Body body) {
  return {schema, body_types, nullptr, body, kSpelling};
}

/// An op that stays what it is until a back end that lacks it takes its body.
constexpr OpRow written(std::string_view schema, Body body, uint32_t traits = 0) {
  return {schema, body_types, nullptr, body, traits};
}

/// Emits an op into the graph of the body.
template <class... A>
Value emit(const Args& a, std::string_view op, const A&... args) {
  return a.graph().emit(op, {OpArg(args)...});
}

/// Number argument i as a tensor without dimensions.
inline Value number(const Args& a, size_t i, DType dtype) {
  return a.graph().emit("aten::full", {SymShape(), a[i], named("dtype", dtype)});
}
inline Value number(const Args& a, double value, DType dtype) {
  return full(a.graph(), {}, value, dtype);
}

inline int64_t rank_of(const Args& a, size_t i = 0) {
  return static_cast<int64_t>(a.type(i).shape.size());
}

/// A bool tensor where a == b, a >= b, ... holds; `b` is a number or a tensor.
inline Value compare(std::string_view op, Value x, const OpArg& other) {
  return x.graph().emit(op, {x, other});
}

/// `times` copies of a number that was given once.
inline std::vector<int64_t> per_axis(std::vector<int64_t> numbers, size_t axes) {
  if (numbers.size() == 1) numbers.resize(axes, numbers[0]);
  return numbers;
}

}  // namespace slipway::ops

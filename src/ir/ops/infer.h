// Shared shape-and-dtype functions of op rows.
#pragma once

#include <vector>

#include "ir/op.h"

namespace slipway::ops {

/// NumPy broadcasting. A size of 1 stretches; symbolic sizes must be equal or known to be 1.
/// Error{kInvalid} names both shapes.
SymShape broadcast(const SymShape& a, const SymShape& b);

/// PyTorch's promotion of two tensors' dtypes (same category: the wider; float over integer over
/// bool).
DType promote(DType a, DType b);
/// The same for two tensors: one without dimensions yields to one with dimensions, unless its
/// category is the higher one.
DType promote(const ValueType& a, const ValueType& b);
/// The result dtype of a tensor with a Python number.
DType promote_scalar(DType tensor, const Arg& scalar);
/// Integers and bool become f32, floating types stay: what sqrt, softmax, ... give.
DType to_floating(DType dtype);

std::vector<ValueType> same_as_self(const Args& a);
/// The shape of the first argument with to_floating() of its dtype.
std::vector<ValueType> floating_as_self(const Args& a);
/// Broadcast and promoted over the first two tensors.
std::vector<ValueType> binary(const Args& a);
/// Broadcast, bool.
std::vector<ValueType> comparison_of_two(const Args& a);
/// The first argument against a number.
std::vector<ValueType> with_scalar(const Args& a);
/// The shape of the first argument, bool.
std::vector<ValueType> bool_as_self(const Args& a);

/// The shape without `axes`, or with size 1 there.
SymShape reduced(const SymShape& shape, const std::vector<int64_t>& axes, bool keepdim);

/// What aten::cat joins: all, less the empty vectors f32[0] among tensors of another rank, which
/// PyTorch skips.
std::vector<Value> joined_parts(const Args& a);

/// Replaces one -1 in `wanted` by what numel(from) leaves; checks that the counts are equal where
/// both are known.
SymShape resolve_view(const Args& a, const SymShape& from, const SymShape& wanted);

/// The shape of a (batched) matrix product.
SymShape matmul_shape(const Args& a, const SymShape& left, const SymShape& right);

/// The types that the body gives for arguments of these types: how spellings infer.
std::vector<ValueType> body_types(const Args& a);

/// Requires two sizes to be equal: both known and different, or never equal, is an error.
void require_equal(const Args& a, Sym got, Sym need, std::string_view what);

}  // namespace slipway::ops

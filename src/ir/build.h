// The notation for writing graphs: operators and functions over values, one node each.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace slipway {

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
/// a + b, which keeps an integer dtype.
Value add(Value a, int64_t b);

Value pow(Value a, double exponent);
Value pow(Value a, Value exponent);
Value neg(Value a);
Value exp(Value a);
Value sqrt(Value a);
Value rsqrt(Value a);
Value reciprocal(Value a);
Value sin(Value a);
Value cos(Value a);
Value tanh(Value a);
Value erf(Value a);
Value sigmoid(Value a);
Value relu(Value a);
Value silu(Value a);
Value gelu(Value a);
/// The tanh approximation.
Value gelu_tanh(Value a);

/// A cast; gives the value itself when it has the dtype already.
Value to(Value a, DType dtype);

Value less(Value a, Sym b);
Value less_equal(Value a, Value b);
Value greater(Value a, Sym b);
Value not_equal(Value a, Sym b);
Value logical_and(Value a, Value b);
Value where(Value condition, Value a, Value b);
/// A scalar of the lowest finite number of the value's dtype.
Value lowest(Value like);

Value mean(Value a, std::vector<int64_t> axes, bool keepdim);
Value sum(Value a, std::vector<int64_t> axes, bool keepdim);
/// The largest element of all.
Value amax(Value a);
Value softmax(Value a, int64_t axis);
Value cumsum(Value a, int64_t axis);

Value view(Value a, SymShape shape);
Value permute(Value a, std::vector<int64_t> axes);
Value transpose(Value a, int64_t axis0, int64_t axis1);
Value unsqueeze(Value a, int64_t axis);
Value squeeze(Value a, int64_t axis);
Value expand(Value a, SymShape shape);
Value cat(std::vector<Value> parts, int64_t axis);
/// Elements [start, end) along an axis.
Value slice(Value a, int64_t axis, Sym start, Sym end);
Value select(Value a, int64_t axis, int64_t index);

/// int64 [end - start]: start, start + 1, ...
Value arange(Graph& graph, Sym start, Sym end);
Value full(Graph& graph, SymShape shape, double value, DType dtype);

Value embedding(Value table, Value indices);
Value matmul(Value a, Value b);
/// a w' + bias; bias may be undefined.
Value linear(Value a, Value weight, Value bias);
Value layer_norm(Value a, Value weight, Value bias, double eps);

Value rms_norm(Value a, Value weight, double eps);
Value rotary_embedding(Value a, Value cos, Value sin);
/// `mask` may be undefined. See the rows of src/ir/ops/composite.cpp.
Value attention(Value query, Value key, Value value, Value mask, double scale);
Value causal_mask(Value padding_mask, Sym query_length, std::optional<int64_t> window);
Value cache_append(Value past, Value current);
Value cache_write(Value cache, Value slots, Value current);
Value keep_last(Value a, Value count, Sym kept);

}  // namespace slipway

// The evaluation functions that op rows name; defined in src/ir/ops/eval_*.cpp by family.
#pragma once

#include <vector>

#include "ir/eval.h"

namespace slipway::ops::eval {

std::vector<Array> abs(const EvalArgs& a);
std::vector<Array> add(const EvalArgs& a);
std::vector<Array> amax(const EvalArgs& a);
std::vector<Array> amin(const EvalArgs& a);
std::vector<Array> arange(const EvalArgs& a);
std::vector<Array> cast(const EvalArgs& a);
std::vector<Array> cat(const EvalArgs& a);
std::vector<Array> copy(const EvalArgs& a);
std::vector<Array> cos(const EvalArgs& a);
std::vector<Array> cumsum(const EvalArgs& a);
std::vector<Array> div(const EvalArgs& a);
std::vector<Array> embedding(const EvalArgs& a);
std::vector<Array> eq(const EvalArgs& a);
std::vector<Array> erf(const EvalArgs& a);
std::vector<Array> exp(const EvalArgs& a);
std::vector<Array> expand(const EvalArgs& a);
std::vector<Array> full(const EvalArgs& a);
std::vector<Array> gather(const EvalArgs& a);
std::vector<Array> ge(const EvalArgs& a);
std::vector<Array> gelu(const EvalArgs& a);
std::vector<Array> gt(const EvalArgs& a);
std::vector<Array> index_copy(const EvalArgs& a);
std::vector<Array> index_select(const EvalArgs& a);
std::vector<Array> keep_last(const EvalArgs& a);
std::vector<Array> layer_norm(const EvalArgs& a);
std::vector<Array> le(const EvalArgs& a);
std::vector<Array> linear(const EvalArgs& a);
std::vector<Array> log(const EvalArgs& a);
std::vector<Array> logical_and(const EvalArgs& a);
std::vector<Array> logical_not(const EvalArgs& a);
std::vector<Array> logical_or(const EvalArgs& a);
std::vector<Array> lt(const EvalArgs& a);
std::vector<Array> masked_fill(const EvalArgs& a);
std::vector<Array> matmul(const EvalArgs& a);
std::vector<Array> matrix_transpose(const EvalArgs& a);
std::vector<Array> maximum(const EvalArgs& a);
std::vector<Array> mean(const EvalArgs& a);
std::vector<Array> minimum(const EvalArgs& a);
std::vector<Array> mul(const EvalArgs& a);
std::vector<Array> ne(const EvalArgs& a);
std::vector<Array> neg(const EvalArgs& a);
std::vector<Array> permute(const EvalArgs& a);
std::vector<Array> pow(const EvalArgs& a);
std::vector<Array> reciprocal(const EvalArgs& a);
std::vector<Array> relabel(const EvalArgs& a);
std::vector<Array> relu(const EvalArgs& a);
std::vector<Array> rms_norm(const EvalArgs& a);
std::vector<Array> rsqrt(const EvalArgs& a);
std::vector<Array> rsub(const EvalArgs& a);
std::vector<Array> select(const EvalArgs& a);
std::vector<Array> sigmoid(const EvalArgs& a);
std::vector<Array> silu(const EvalArgs& a);
std::vector<Array> sin(const EvalArgs& a);
std::vector<Array> slice(const EvalArgs& a);
std::vector<Array> softmax(const EvalArgs& a);
std::vector<Array> sqrt(const EvalArgs& a);
std::vector<Array> sub(const EvalArgs& a);
std::vector<Array> sum(const EvalArgs& a);
std::vector<Array> tanh(const EvalArgs& a);
std::vector<Array> transpose(const EvalArgs& a);
std::vector<Array> view(const EvalArgs& a);
std::vector<Array> where(const EvalArgs& a);

}  // namespace slipway::ops::eval

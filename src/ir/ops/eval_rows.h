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
std::vector<Array> argmax(const EvalArgs& a);
std::vector<Array> argmin(const EvalArgs& a);
std::vector<Array> atan(const EvalArgs& a);
std::vector<Array> avg_pool(const EvalArgs& a);
std::vector<Array> bitwise_and(const EvalArgs& a);
std::vector<Array> bitwise_not(const EvalArgs& a);
std::vector<Array> bitwise_or(const EvalArgs& a);
std::vector<Array> bitwise_xor(const EvalArgs& a);
std::vector<Array> cast(const EvalArgs& a);
std::vector<Array> cat(const EvalArgs& a);
std::vector<Array> ceil(const EvalArgs& a);
std::vector<Array> clamp(const EvalArgs& a);
std::vector<Array> convolution(const EvalArgs& a);
std::vector<Array> cos(const EvalArgs& a);
std::vector<Array> cumsum(const EvalArgs& a);
std::vector<Array> div(const EvalArgs& a);
std::vector<Array> div_mode(const EvalArgs& a);
std::vector<Array> embedding(const EvalArgs& a);
std::vector<Array> eq(const EvalArgs& a);
std::vector<Array> erf(const EvalArgs& a);
std::vector<Array> exp(const EvalArgs& a);
std::vector<Array> expand(const EvalArgs& a);
std::vector<Array> expm1(const EvalArgs& a);
std::vector<Array> flip(const EvalArgs& a);
std::vector<Array> floor(const EvalArgs& a);
std::vector<Array> fmod(const EvalArgs& a);
std::vector<Array> full(const EvalArgs& a);
std::vector<Array> gather(const EvalArgs& a);
std::vector<Array> ge(const EvalArgs& a);
std::vector<Array> gelu(const EvalArgs& a);
std::vector<Array> grouped_mm(const EvalArgs& a);
std::vector<Array> gt(const EvalArgs& a);
std::vector<Array> index(const EvalArgs& a);
std::vector<Array> index_copy(const EvalArgs& a);
std::vector<Array> index_put(const EvalArgs& a);
std::vector<Array> index_select(const EvalArgs& a);
std::vector<Array> isinf(const EvalArgs& a);
std::vector<Array> isnan(const EvalArgs& a);
std::vector<Array> keep_last(const EvalArgs& a);
std::vector<Array> layer_norm(const EvalArgs& a);
std::vector<Array> le(const EvalArgs& a);
std::vector<Array> linear(const EvalArgs& a);
std::vector<Array> log(const EvalArgs& a);
std::vector<Array> log1p(const EvalArgs& a);
std::vector<Array> log_softmax(const EvalArgs& a);
std::vector<Array> logical_and(const EvalArgs& a);
std::vector<Array> logical_not(const EvalArgs& a);
std::vector<Array> logical_or(const EvalArgs& a);
std::vector<Array> lt(const EvalArgs& a);
std::vector<Array> masked_fill(const EvalArgs& a);
std::vector<Array> matmul(const EvalArgs& a);
std::vector<Array> matrix_transpose(const EvalArgs& a);
std::vector<Array> max_pool(const EvalArgs& a);
std::vector<Array> maximum(const EvalArgs& a);
std::vector<Array> mean(const EvalArgs& a);
std::vector<Array> minimum(const EvalArgs& a);
std::vector<Array> mul(const EvalArgs& a);
std::vector<Array> ne(const EvalArgs& a);
std::vector<Array> neg(const EvalArgs& a);
std::vector<Array> pad(const EvalArgs& a);
std::vector<Array> permute(const EvalArgs& a);
std::vector<Array> pow(const EvalArgs& a);
std::vector<Array> prod(const EvalArgs& a);
std::vector<Array> reciprocal(const EvalArgs& a);
std::vector<Array> relabel(const EvalArgs& a);
std::vector<Array> relu(const EvalArgs& a);
std::vector<Array> remainder(const EvalArgs& a);
std::vector<Array> rms_norm(const EvalArgs& a);
std::vector<Array> round(const EvalArgs& a);
std::vector<Array> rsqrt(const EvalArgs& a);
std::vector<Array> rsub(const EvalArgs& a);
std::vector<Array> scatter(const EvalArgs& a);
std::vector<Array> scatter_add(const EvalArgs& a);
std::vector<Array> select(const EvalArgs& a);
std::vector<Array> sigmoid(const EvalArgs& a);
std::vector<Array> sign(const EvalArgs& a);
std::vector<Array> silu(const EvalArgs& a);
std::vector<Array> sin(const EvalArgs& a);
std::vector<Array> slice(const EvalArgs& a);
std::vector<Array> softmax(const EvalArgs& a);
std::vector<Array> sort(const EvalArgs& a);
std::vector<Array> sqrt(const EvalArgs& a);
std::vector<Array> sub(const EvalArgs& a);
std::vector<Array> sum(const EvalArgs& a);
std::vector<Array> tan(const EvalArgs& a);
std::vector<Array> tanh(const EvalArgs& a);
std::vector<Array> topk(const EvalArgs& a);
std::vector<Array> transpose(const EvalArgs& a);
std::vector<Array> trunc(const EvalArgs& a);
std::vector<Array> upsample(const EvalArgs& a);
std::vector<Array> view(const EvalArgs& a);
std::vector<Array> where(const EvalArgs& a);

}  // namespace slipway::ops::eval

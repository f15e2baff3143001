// Layer normalization and its relatives.
#include "ir/build.h"
#include "ir/ops/eval_rows.h"
#include "ir/ops/families.h"
#include "ir/ops/infer.h"

namespace slipway::ops {
namespace {

std::vector<ValueType> normalized(const Args& a) {
  const SymShape& shape = a.type(0).shape;
  const std::vector<Sym>& over = a.syms(1);
  if (over.empty() || over.size() > shape.size()) a.fail("normalized_shape does not fit the input");
  for (size_t i = 0; i < over.size(); ++i)
    require_equal(a, shape[shape.size() - over.size() + i], over[i], "a normalized size");
  return {a.type(0)};
}

std::vector<int64_t> last_axes(size_t count) {
  std::vector<int64_t> axes;
  for (size_t i = count; i > 0; --i) axes.push_back(-static_cast<int64_t>(i));
  return axes;
}

const OpRow kRows[] = {
    // w * (x - mean(x)) / sqrt(var(x) + eps) + b (Ba et al. 2016)
    {.schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
               "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
     .infer = normalized,
     .eval = eval::layer_norm,
     .body = [](const Args& a) -> std::vector<Value> {
       const std::vector<int64_t> axes = last_axes(a.syms(1).size());
       const Value centered = a.value(0) - mean(a.value(0), axes, true);
       Value y = centered * rsqrt(mean(centered * centered, axes, true) + a.number(4));
       if (a.has(2)) y = y * a.value(2);
       if (a.has(3)) y = y + a.value(3);
       return {y};
     }},
    // w * x / sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019)
    {.schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
               "float? eps=None) -> Tensor",
     .infer = normalized,
     .eval = eval::rms_norm,
     .body = [](const Args& a) -> std::vector<Value> {
       const std::vector<int64_t> axes = last_axes(a.syms(1).size());
       const DType dtype = a.type(0).dtype;
       const double eps = a.has(3) ? a.number(3) : dtype == DType::kF64 ? 0x1p-52 : 0x1p-23;
       // 16-bit squares overflow: PyTorch computes in float32 then.
       const Value x = itemsize(dtype) < 4 ? to(a.value(0), DType::kF32) : a.value(0);
       const Value y = x * rsqrt(mean(pow(x, 2.0), axes, true) + eps);
       return {to(a.has(2) ? y * a.value(2) : y, dtype)};
     }},
};

}  // namespace

std::span<const OpRow> normalization() { return kRows; }

}  // namespace slipway::ops

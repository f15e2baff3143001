// Shared walks of the evaluation functions.
#include "ir/ops/eval_util.h"

#include <fmt/format.h>

namespace slipway::ops::eval {

void require(const EvalArgs& a, bool holds, std::string_view need) {
  if (!holds) throw Error(kInvalid, fmt::format("[eval] {}: need {}", a.node().op->name(), need));
}

Array operand(const EvalArgs& a, size_t i, DType compute) {
  if (std::holds_alternative<Value>(a.args()[i])) return a.array(i);
  Array number{compute, {}, {a.number(i)}};
  if (compute == DType::kF16 || compute == DType::kBF16) number.dtype = DType::kF32;
  number.round();
  return number;
}

Array result(const EvalArgs& a) {
  Array out{a.out_dtype(), a.out_shape(), {}};
  out.values.resize(static_cast<size_t>(numel(out.shape)));
  return out;
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::vector<int64_t> offsets(const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<int64_t> found(static_cast<size_t>(numel(shape)));
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t& slot : found) {
    slot = offset;
    for (size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return found;
}

std::vector<int64_t> broadcast_offsets(const EvalArgs& a, const Shape& from, const Shape& to) {
  require(a, from.size() <= to.size(), "an operand of no higher rank than the result");
  const std::vector<int64_t> own = strides_of(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    require(a, from[i] == to[lead + i] || from[i] == 1,
            fmt::format("{} to broadcast to {}", shape_string(from), shape_string(to)));
    if (from[i] != 1) strides[lead + i] = own[i];
  }
  return offsets(to, strides);
}

Lanes lanes(const Shape& shape, int64_t axis) {
  Lanes l{1, 1, 1};
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? l.outer : at == axis ? l.size : l.inner) *= shape[i];
  }
  return l;
}

}  // namespace slipway::ops::eval

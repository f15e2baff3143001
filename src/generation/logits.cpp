// The logits of each row's last position.
#include "generation/logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/convert.h"

namespace slipway {

LastLogits::LastLogits(const Tensor& logits) {
  const bool fits = logits.rank() == 2 || logits.rank() == 3;
  if (!fits || logits.numel() == 0 || !is_floating(logits.dtype()))
    throw Error(kInvalid, fmt::format("[generate] logits are {} {}, need floats [batch, sequence, "
                                      "vocabulary]; this export is no decoder of text",
                                      torch_name(logits.dtype()), shape_string(logits.shape())));
  rows_ = logits.dim(0);
  vocabulary_ = logits.dim(-1);
  const int64_t positions = logits.rank() == 3 ? logits.dim(1) : 1;
  values_.resize(static_cast<size_t>(rows_ * vocabulary_));
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t last = ((row + 1) * positions - 1) * vocabulary_;
    convert(logits.dtype(), logits.data() + last * itemsize(logits.dtype()), DType::kF32,
            reinterpret_cast<std::byte*>(values_.data() + row * vocabulary_), vocabulary_);
  }
}

std::span<const float> LastLogits::row(size_t index) const {
  SLIPWAY_ASSERT(index < static_cast<size_t>(rows_));
  const auto width = static_cast<size_t>(vocabulary_);
  return std::span(values_).subspan(index * width, width);
}

int64_t LastLogits::best(size_t index) const {
  const auto values = row(index);
  if (std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }))
    throw Error(kInvalid, fmt::format("[generate] the logits of row {} hold NaN; the export does "
                                      "not compute well in its dtype, export it as float32",
                                      index));
  return std::max_element(values.begin(), values.end()) - values.begin();
}

std::vector<std::pair<int64_t, float>> LastLogits::top(size_t index, int64_t count) const {
  const auto values = row(index);
  std::vector<int64_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const auto end = ids.begin() + std::clamp<int64_t>(count, 0, vocabulary_);
  const auto at = [&](int64_t id) {  // NaN sorts last, so that the order is total
    const float v = values[static_cast<size_t>(id)];
    return std::isnan(v) ? -INFINITY : v;
  };
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](int64_t a, int64_t b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
  std::vector<std::pair<int64_t, float>> top;
  for (auto id = ids.begin(); id != end; ++id)
    top.emplace_back(*id, values[static_cast<size_t>(*id)]);
  return top;
}

}  // namespace slipway

// FP8 weights times their scales, element by element while they are read.
#include "checkpoint/fp8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/convert.h"

namespace slipway {
namespace {

int64_t blocks(int64_t size, int64_t block) { return size / block + (size % block != 0 ? 1 : 0); }

bool is_f8(const LazyTensor& x) {
  return x.dtype() == DType::kF8E4M3 || x.dtype() == DType::kF8E5M2;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Scales that serve the arithmetic of FP8 kernels and not the value of a weight.
bool is_kernel_scale(std::string_view name) {
  for (const std::string_view end : {".input_scale", ".output_scale", ".activation_scale",
                                     ".activation_scale_inv", ".k_scale", ".v_scale"})
    if (ends_with(name, end)) return true;
  return false;
}

class Dequantized final : public LazyTensor {
 public:
  Dequantized(Lazy x, const LazyTensor& scale, ScaleBlock block)
      : LazyTensor(DType::kF32, x->shape()),
        x_(std::move(x)),
        block_(block),
        columns_(x_->shape()[1]),
        grid_columns_(blocks(columns_, block.columns)) {
    const Tensor stored = materialize(scale);
    scales_.resize(static_cast<size_t>(stored.numel()));
    convert(stored.dtype(), stored.data(), DType::kF32,
            reinterpret_cast<std::byte*>(scales_.data()), stored.numel());
    SLIPWAY_ASSERT(stored.numel() == blocks(x_->shape()[0], block.rows) * grid_columns_);
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    std::vector<std::byte> codes(static_cast<size_t>(std::min(count, kStep)));
    float values[kStep];
    while (count > 0) {
      const int64_t row = begin / columns_, column = begin % columns_;
      const int64_t block_end = (column / block_.columns + 1) * block_.columns;
      const int64_t n = std::min({count, kStep, std::min(block_end, columns_) - column});
      x_->read(begin, n, codes.data());
      auto* bytes = reinterpret_cast<std::byte*>(values);
      convert(x_->dtype(), codes.data(), DType::kF32, bytes, n);
      const float scale =
          scales_[static_cast<size_t>(row / block_.rows * grid_columns_ + column / block_.columns)];
      for (int64_t i = 0; i < n; ++i) values[i] *= scale;
      std::copy_n(bytes, n * 4, out);
      out += n * 4;
      begin += n;
      count -= n;
    }
  }
  int64_t granularity() const override { return x_->granularity(); }

 private:
  static constexpr int64_t kStep = 4096;
  Lazy x_;
  ScaleBlock block_;
  int64_t columns_, grid_columns_;
  std::vector<float> scales_;
};

class Fp8Store final : public WeightStore {
 public:
  Fp8Store(std::shared_ptr<const WeightStore> stored, std::optional<ScaleBlock> block)
      : stored_(std::move(stored)), block_(block) {
    std::set<std::string, std::less<>> scales;
    for (const std::string& name : stored_->names()) {
      Lazy x = stored_->find(name);
      if (!is_f8(*x)) continue;
      const std::string scale_name = find_scale(name);
      const Lazy scale = stored_->find(scale_name);
      dequantized_.emplace(name, dequantize(name, std::move(x), scale_name, *scale));
      scales.insert(scale_name);
    }
    for (const std::string& name : stored_->names())
      if (scales.count(name) == 0 && !is_kernel_scale(name)) names_.push_back(name);
  }

  const std::vector<std::string>& names() const override { return names_; }
  std::string description() const override { return stored_->description(); }
  Lazy find(std::string_view name) const override {
    const auto found = dequantized_.find(name);
    if (found != dequantized_.end()) return found->second;
    return std::binary_search(names_.begin(), names_.end(), name) ? stored_->find(name) : nullptr;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem, ErrorKind kind = kInvalid) const {
    throw Error(kind, fmt::format("[checkpoint] {}: {}", stored_->description(), problem));
  }

  std::string find_scale(const std::string& name) const {
    const std::string inverse = name + "_scale_inv", direct = name + "_scale";
    const bool has_inverse = stored_->find(inverse) != nullptr,
               has_direct = stored_->find(direct) != nullptr;
    if (has_inverse && has_direct)
      refuse(
          fmt::format("FP8 tensor {} has both {} and {}, need one of them", name, inverse, direct));
    if (!has_inverse && !has_direct)
      refuse(fmt::format(
          "FP8 tensor {} has no scale, need {} or {}; without it the stored numbers are "
          "not the weights",
          name, inverse, direct));
    return has_inverse ? inverse : direct;
  }

  Lazy dequantize(const std::string& name, Lazy x, const std::string& scale_name,
                  const LazyTensor& scale) const {
    if (!is_floating(scale.dtype()) || is_f8(scale))
      refuse(
          fmt::format("scale {} has dtype {}, need f32, bf16 or f16 (exponents stored as bytes are "
                      "not supported)",
                      scale_name, short_name(scale.dtype())),
          kUnsupported);
    const Shape shape = x->shape();
    if (shape.size() != 2)
      refuse(
          fmt::format("FP8 tensor {} has shape {}, need a matrix; use the unquantized checkpoint",
                      name, shape_string(shape)),
          kUnsupported);
    const int64_t rows = shape[0], columns = shape[1];
    const Shape& s = scale.shape();
    const ScaleBlock one_in_all{std::max<int64_t>(rows, 1), std::max<int64_t>(columns, 1)};
    const ScaleBlock one_per_row{1, one_in_all.columns};
    // The scheme's blocks come first: a grid can have a single column, or a single element.
    if (block_ && s == Shape{blocks(rows, block_->rows), blocks(columns, block_->columns)})
      return lazy_dequantize_fp8(std::move(x), stored_->find(scale_name), *block_);
    if (scale.numel() == 1 && rows > 0 && columns > 0)
      return lazy_dequantize_fp8(std::move(x), stored_->find(scale_name), one_in_all);
    if (s == Shape{rows, 1} || s == Shape{rows})
      return lazy_dequantize_fp8(std::move(x), stored_->find(scale_name), one_per_row);
    refuse(fmt::format(
        "scale {} has shape {}, need [1] or [{}, 1]{} for {} of shape {}", scale_name,
        shape_string(s), rows,
        block_ ? fmt::format(" or, in blocks of {} by {}, [{}, {}]", block_->rows, block_->columns,
                             blocks(rows, block_->rows), blocks(columns, block_->columns))
               : " (the config states no blocks)",
        name, shape_string(shape)));
  }

  std::shared_ptr<const WeightStore> stored_;
  std::optional<ScaleBlock> block_;
  std::map<std::string, Lazy, std::less<>> dequantized_;
  std::vector<std::string> names_;
};

}  // namespace

Lazy lazy_dequantize_fp8(Lazy x, Lazy scale, ScaleBlock block) {
  SLIPWAY_ASSERT(x != nullptr && is_f8(*x) && x->shape().size() == 2);
  SLIPWAY_ASSERT(scale != nullptr && block.rows > 0 && block.columns > 0);
  return std::make_shared<Dequantized>(std::move(x), *scale, block);
}

std::shared_ptr<const WeightStore> dequantize_fp8(std::shared_ptr<const WeightStore> stored,
                                                  std::optional<ScaleBlock> block) {
  SLIPWAY_ASSERT(stored != nullptr);
  return std::make_shared<Fp8Store>(std::move(stored), block);
}

}  // namespace slipway

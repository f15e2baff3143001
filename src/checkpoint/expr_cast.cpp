// Lazy casts and constant scale and offset.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/convert.h"
#include "checkpoint/expr.h"
#include "checkpoint/expr_intern.h"

namespace slipway {
namespace {

/// Elements per step: a few granules, and small enough that both sides stay in the second cache.
int64_t step_of(const LazyTensor& x) {
  const int64_t grain = std::max<int64_t>(1, x.granularity());
  return grain * std::max<int64_t>(1, (int64_t{1} << 14) / grain);
}

/// Calls f(in, at, n) with the stored bytes of elements begin + at ... in pieces.
template <class F>
void for_pieces(const LazyTensor& x, int64_t begin, int64_t count, F f) {
  const int64_t size = itemsize(x.dtype());
  if (const auto view = x.view()) {
    f(view->data() + begin * size, int64_t{0}, count);
    return;
  }
  const int64_t step = step_of(x);
  std::vector<std::byte> piece(static_cast<size_t>(std::min(step, count) * size));
  for (int64_t at = 0; at < count;) {
    // The first piece ends on a granule, so that the others begin on one.
    const int64_t n = std::min(step - (begin + at) % step, count - at);
    x.read(begin + at, n, piece.data());
    f(piece.data(), at, n);
    at += n;
  }
}

class Cast final : public LazyTensor {
 public:
  Cast(Lazy x, DType dtype) : LazyTensor(dtype, x->shape()), x_(std::move(x)) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const int64_t size = itemsize(dtype());
    for_pieces(*x_, begin, count, [&](const std::byte* in, int64_t at, int64_t n) {
      convert(x_->dtype(), in, dtype(), out + at * size, n);
    });
  }
  int64_t granularity() const override { return x_->granularity(); }

 private:
  Lazy x_;
};

class Affine final : public LazyTensor {
 public:
  Affine(Lazy x, double scale, double offset)
      : LazyTensor(x->dtype(), x->shape()), x_(std::move(x)), scale_(scale), offset_(offset) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    if (dtype() == DType::kF64) compute<double>(DType::kF64, begin, count, out);
    else compute<float>(DType::kF32, begin, count, out);
  }
  int64_t granularity() const override { return x_->granularity(); }

 private:
  template <class T>
  void compute(DType wide, int64_t begin, int64_t count, std::byte* out) const {
    constexpr int64_t kBlock = 1024;
    T values[kBlock];
    const int64_t size = itemsize(dtype());
    const T scale = static_cast<T>(scale_), offset = static_cast<T>(offset_);
    for_pieces(*x_, begin, count, [&](const std::byte* in, int64_t at, int64_t n) {
      for (int64_t done = 0; done < n; done += kBlock) {
        const int64_t m = std::min(kBlock, n - done);
        auto* bytes = reinterpret_cast<std::byte*>(values);
        convert(dtype(), in + done * size, wide, bytes, m);
        for (int64_t i = 0; i < m; ++i) values[i] = values[i] * scale + offset;
        convert(wide, bytes, dtype(), out + (at + done) * size, m);
      }
    });
  }

  Lazy x_;
  double scale_, offset_;
};

}  // namespace

Lazy lazy_cast(Lazy x, DType dtype) {
  SLIPWAY_ASSERT(x != nullptr);
  if (x->dtype() == dtype) return x;
  return interned(*x, fmt::format("as {}", short_name(dtype)),
                  [&] { return std::make_shared<Cast>(x, dtype); });
}

Lazy lazy_affine(Lazy x, double scale, double offset) {
  SLIPWAY_ASSERT(x != nullptr && is_floating(x->dtype()));
  return std::make_shared<Affine>(std::move(x), scale, offset);
}

}  // namespace slipway

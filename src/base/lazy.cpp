// Lazy constants and reading a lazy tensor whole.
#include "base/lazy.h"

#include <cstring>

namespace slipway {
namespace {

class Constant final : public LazyTensor {
 public:
  explicit Constant(Tensor t) : LazyTensor(t.dtype(), t.shape()), tensor_(std::move(t)) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const auto size = static_cast<size_t>(itemsize(dtype()));
    if (count > 0)
      std::memcpy(out, tensor_.data() + static_cast<size_t>(begin) * size,
                  static_cast<size_t>(count) * size);
  }

  std::optional<ByteSpan> view() const override {
    return ByteSpan(tensor_.data(), static_cast<size_t>(tensor_.nbytes()));
  }

 private:
  Tensor tensor_;
};

}  // namespace

Lazy lazy_constant(Tensor tensor) {
  SLIPWAY_ASSERT(tensor.defined());
  return std::make_shared<Constant>(std::move(tensor));
}

Tensor materialize(const LazyTensor& lazy) {
  Tensor t(lazy.dtype(), lazy.shape());
  lazy.read(0, lazy.numel(), t.mutable_data());
  return t;
}

}  // namespace slipway

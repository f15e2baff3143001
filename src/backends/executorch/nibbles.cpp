// Elements of 4 bits, two a byte.
#include "backends/executorch/nibbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "slipway/error.h"

namespace slipway::executorch {
namespace {

class Nibbles final : public LazyTensor {
 public:
  explicit Nibbles(Lazy x)
      : LazyTensor(DType::kU8, {x->shape()[0], x->shape()[1] / 2}), x_(std::move(x)) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    std::vector<std::byte> pairs(static_cast<size_t>(2 * std::min(count, kAtOnce)));
    for (int64_t done = 0; done < count; done += kAtOnce) {
      const int64_t some = std::min(kAtOnce, count - done);
      x_->read(2 * (begin + done), 2 * some, pairs.data());
      for (int64_t i = 0; i < some; ++i)
        out[done + i] = nibble(pairs[static_cast<size_t>(2 * i)]) |
                        nibble(pairs[static_cast<size_t>(2 * i + 1)]) << 4;
    }
  }
  int64_t granularity() const override { return std::max<int64_t>(1, x_->granularity() / 2); }

 private:
  static constexpr int64_t kAtOnce = 1 << 20;

  static std::byte nibble(std::byte element) {
    const int value = static_cast<int8_t>(element);
    if (value < -8 || value > 7)
      throw Error(kInvalid, fmt::format("[executorch] a weight of 4 bits has the element {}; it "
                                        "must be -8 to 7",
                                        value));
    return static_cast<std::byte>(value + 8);
  }

  Lazy x_;
};

}  // namespace

Lazy lazy_nibbles(Lazy x) {
  SLIPWAY_ASSERT(x->dtype() == DType::kI8 && x->shape().size() == 2 && x->shape()[1] % 2 == 0);
  return std::make_shared<Nibbles>(std::move(x));
}

}  // namespace slipway::executorch

// A tensor that lies as it is in a mapped file.
#include "checkpoint/mapped_tensor.h"

#include <fmt/format.h>

#include <cstring>

namespace slipway {
namespace {

class MappedTensor final : public LazyTensor {
 public:
  MappedTensor(std::shared_ptr<const MappedFile> file, DType dtype, Shape shape, int64_t begin)
      : LazyTensor(dtype, std::move(shape)), file_(std::move(file)) {
    const ByteSpan all = file_->bytes();
    int64_t bytes = 0, end = 0;
    if (begin < 0 || __builtin_mul_overflow(numel(), itemsize(dtype), &bytes) ||
        __builtin_add_overflow(begin, bytes, &end) || static_cast<uint64_t>(end) > all.size())
      throw Error(
          kInvalid,
          fmt::format("[checkpoint] {} has {} bytes, a tensor of {} {} at byte {} lies beyond",
                      file_->path().string(), all.size(), short_name(dtype),
                      shape_string(this->shape()), begin));
    bytes_ = all.subspan(static_cast<size_t>(begin), static_cast<size_t>(bytes));
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const auto size = static_cast<size_t>(itemsize(dtype()));
    if (count > 0)
      std::memcpy(out, bytes_.data() + static_cast<size_t>(begin) * size,
                  static_cast<size_t>(count) * size);
  }

  std::optional<ByteSpan> view() const override { return bytes_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  ByteSpan bytes_;
};

}  // namespace

Lazy mapped_tensor(std::shared_ptr<const MappedFile> file, DType dtype, Shape shape,
                   int64_t begin) {
  return std::make_shared<MappedTensor>(std::move(file), dtype, std::move(shape), begin);
}

}  // namespace slipway

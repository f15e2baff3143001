// Host tensors: allocation, checks, copies.
#include "slipway/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>

namespace slipway {

int64_t numel(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0)
      throw Error(kInvalid, fmt::format("[tensor] got shape {}, need sizes of at least 0",
                                        shape_string(shape)));
    if (__builtin_mul_overflow(n, d, &n))
      throw Error(kInvalid, fmt::format("[tensor] shape {} has more than 2^63 elements",
                                        shape_string(shape)));
  }
  return n;
}

std::string shape_string(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), numel_(slipway::numel(shape_)) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(numel_, itemsize(dtype), &bytes))
    throw Error(kInvalid,
                fmt::format("[tensor] shape {} has too many bytes", shape_string(shape_)));
  // Zero pages come from the kernel untouched; calloc keeps them so. One byte keeps data()
  // non-null.
  void* p = std::calloc(static_cast<size_t>(bytes) + 1, 1);
  if (p == nullptr)
    throw Error(kEnvironment, fmt::format("[tensor] out of memory: {} bytes for {}", bytes,
                                          shape_string(shape_)));
  data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(p), std::free);
}

Tensor Tensor::wrap(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.numel_ = slipway::numel(shape);
  t.shape_ = std::move(shape);
  static std::byte empty{};
  t.data_ = std::shared_ptr<std::byte>(std::move(owner),
                                       data != nullptr ? static_cast<std::byte*>(data) : &empty);
  return t;
}

int64_t Tensor::dim(int64_t i) const {
  const int64_t at = i < 0 ? i + rank() : i;
  SLIPWAY_ASSERT(at >= 0 && at < rank());
  return shape_[static_cast<size_t>(at)];
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor t(dtype_, shape_);
  std::memcpy(t.mutable_data(), data(), static_cast<size_t>(nbytes()));
  return t;
}

Tensor Tensor::reshape(Shape shape) const {
  if (slipway::numel(shape) != numel_)
    throw Error(kInvalid, fmt::format("[tensor] cannot view {} as {}: element counts differ",
                                      shape_string(shape_), shape_string(shape)));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

void Tensor::copy_from(const void* values, size_t bytes) {
  if (bytes != static_cast<size_t>(nbytes()))
    throw Error(kInvalid, fmt::format("[tensor] got {} bytes of values, shape {} of {} needs {}",
                                      bytes, shape_string(shape_), short_name(dtype_), nbytes()));
  if (bytes != 0) std::memcpy(mutable_data(), values, bytes);
}

void Tensor::check_dtype(DType wanted) const {
  if (!defined() || dtype_ != wanted)
    throw Error(kInvalid, fmt::format("[tensor] got {}, need {}",
                                      defined() ? short_name(dtype_) : "an undefined tensor",
                                      short_name(wanted)));
}

}  // namespace slipway

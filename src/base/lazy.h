// The interface of weights that are computed while they are read, never gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "slipway/tensor.h"

namespace slipway {

using ByteSpan = std::span<const std::byte>;

/// A tensor whose elements are produced on demand from a mapped file or from other lazy tensors.
/// Immutable and safe to read from several threads at once. Reading allocates at most a few MiB
/// beyond the caller's buffer.
class LazyTensor {
 public:
  virtual ~LazyTensor() = default;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t numel() const { return numel_; }
  int64_t nbytes() const { return numel_ * itemsize(dtype_); }

  /// Writes elements [begin, begin + count) in row-major order to `out`, which has room for
  /// count * itemsize(dtype()) bytes. Asserts that the range is inside the tensor.
  virtual void read(int64_t begin, int64_t count, std::byte* out) const = 0;

  /// Element counts that read() is efficient for: ranges should begin at and be multiples of it.
  virtual int64_t granularity() const { return 1; }

  /// The whole contents when they already lie in memory (a mapped file, a constant).
  virtual std::optional<ByteSpan> view() const { return std::nullopt; }

 protected:
  LazyTensor(DType dtype, Shape shape)
      : dtype_(dtype), shape_(std::move(shape)), numel_(slipway::numel(shape_)) {}

 private:
  DType dtype_;
  Shape shape_;
  int64_t numel_;
};

/// Lazy tensors are shared: two uses of one object are one stored tensor in every format.
using Lazy = std::shared_ptr<const LazyTensor>;

/// A lazy tensor over a host tensor; it keeps the storage alive.
Lazy lazy_constant(Tensor tensor);

/// Reads a whole lazy tensor into memory. For small tensors and tests.
Tensor materialize(const LazyTensor& lazy);

}  // namespace slipway

// Memory that grows: bytes that are kept from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "slipway/tensor.h"

namespace slipway {

enum class Fill { kNone, kZero };

/// A block of memory for tensors, aligned for vector instructions. It only grows; tensors that
/// were made over it stay valid.
class Block {
 public:
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  /// At least `bytes`. What was in it is lost when it has to grow. Throws Error{kEnvironment} for
  /// more than the system has available.
  void reserve(size_t bytes, Fill fill = Fill::kNone);
  /// A tensor over its beginning, which keeps the memory.
  Tensor tensor(DType dtype, Shape shape) const;

 private:
  std::shared_ptr<std::byte> data_;
  size_t bytes_ = 0;
};

/// The lines of a cache [batch, heads, slots, width]: one a row and head, `stride` bytes apart.
struct CacheLines {
  std::byte* data = nullptr;
  size_t heads = 0, stride = 0;

  std::byte* line(size_t row, size_t head) const { return data + (row * heads + head) * stride; }
};

/// Row i of `to` becomes row `rows[i]` of `from`, the first `bytes` of each line.
void copy_rows(const CacheLines& from, std::span<const int64_t> rows, const CacheLines& to,
               size_t bytes);

}  // namespace slipway

// Memory that grows: bytes that are kept from call to call.
#include "generation/cache_buffers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/system_memory.h"

namespace slipway {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

void Block::reserve(size_t bytes, Fill fill) {
  if (bytes <= bytes_ && data_) return;
  data_.reset();  // first, so that both need not fit into memory
  bytes_ = 0;
  check_memory(bytes, "decoder", "a buffer of the decoder");
  const size_t padded = bytes + kAlignment;
  // Zeroed memory of the system is not touched before it is used.
  void* memory = fill == Fill::kZero ? std::calloc(padded, 1) : std::malloc(padded);
  if (memory == nullptr)
    throw Error(kEnvironment, fmt::format("[decoder] no memory for {} bytes of cache", bytes));
  void* aligned = memory;
  size_t space = padded;
  std::align(kAlignment, bytes, aligned, space);
  data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(aligned),
                                     [memory](std::byte*) { std::free(memory); });
  bytes_ = bytes;
}

Tensor Block::tensor(DType dtype, Shape shape) const {
  return Tensor::wrap(dtype, std::move(shape), data_.get(), data_);
}

void copy_rows(const CacheLines& from, std::span<const int64_t> rows, const CacheLines& to,
               size_t bytes) {
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t head = 0; head < from.heads; ++head)
      std::memcpy(to.line(i, head), from.line(static_cast<size_t>(rows[i]), head), bytes);
}

}  // namespace slipway

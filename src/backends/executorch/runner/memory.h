// Memory of arenas and outputs, and tensors between DLPack and ExecuTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/executorch/runner/et.h"
#include "runtime/dlpack.h"
#include "slipway/tensor.h"

namespace slipway::executorch_runner {

/// Zeros, of which the system gives pages as they are written to: upper bounds cost nothing.
class Pages {
 public:
  Pages() = default;
  /// Throws Error{kEnvironment} where the system refuses.
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
    other.bytes_ = 0;
  }
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Zeros again.
  void clear();

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// The address of a tensor's first element.
inline std::byte* address(const abi::DLTensor& tensor) {
  return tensor.data != nullptr ? static_cast<std::byte*>(tensor.data) + tensor.byte_offset
                                : nullptr;
}

/// The caller's memory. Throws Error{kInvalid} naming `what` for memory that is not row-major or
/// has another dtype, Error{kUnsupported} for memory that is not main memory.
struct View {
  Shape shape;
  std::byte* data = nullptr;

  View() = default;
  View(const abi::DLTensor& tensor, DType dtype, std::string_view what);
  bool operator==(const View&) const = default;
};

/// Hands memory over: a copy of `bytes` at `data`, or pages without a copy.
abi::DLManagedTensor* hand_over(DType dtype, Shape shape, const std::byte* data);
abi::DLManagedTensor* hand_over(DType dtype, Shape shape, Pages pages);

}  // namespace slipway::executorch_runner

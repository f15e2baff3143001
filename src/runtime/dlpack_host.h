// What plug-ins check of a tensor that a caller gives.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "runtime/dlpack.h"
#include "slipway/error.h"

namespace slipway::abi {

inline bool is_row_major(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// The bytes of a tensor; throws as host_data().
inline int64_t host_bytes(const DLTensor& tensor, std::string_view where, std::string_view what) {
  int64_t bytes = tensor.dtype.bits / 8;
  for (int32_t i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] < 0 || __builtin_mul_overflow(bytes, tensor.shape[i], &bytes))
      throw Error(kInvalid, fmt::format("[{}] {} has a size that no memory holds", where, what));
  return bytes;
}

/// Where the elements of a tensor begin, never null: runtimes refuse that even for no elements.
/// Throws Error naming `what` for memory that is not on the host, has strides, or for sizes that
/// are no sizes.
inline void* host_data(const DLTensor& tensor, std::string_view where, std::string_view what) {
  const int32_t device = tensor.device.device_type;
  if (device != kDLCPU && device != kDLCUDAHost)
    throw Error(kUnsupported, fmt::format("[{}] {} is on the DLPack device {}, need main memory",
                                          where, what, device));
  if (!is_row_major(tensor))
    throw Error(kInvalid, fmt::format("[{}] {} has strides, need row-major memory", where, what));
  host_bytes(tensor, where, what);
  static std::byte empty[64];
  return tensor.data != nullptr ? static_cast<std::byte*>(tensor.data) + tensor.byte_offset : empty;
}

}  // namespace slipway::abi

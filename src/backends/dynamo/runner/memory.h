// Tensors over memory that libtorch does not own, and the way back to the host.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backends/dynamo/runner/torch.h"
#include "runtime/dlpack.h"

namespace slipway::dynamo_runner {

/// Whose memory a tensor lies in. A graph may write only to its own (kGraph, kState, kWritable).
enum class Memory {
  kGraph,     ///< allocated by libtorch
  kMapped,    ///< a mapped file: weights and constants
  kCaller,    ///< an input of the caller that the graph does not update
  kWritable,  ///< an input of the caller that is updated in place
  kState,     ///< a buffer that the session keeps from run to run
};

/// A storage of `bytes` at `data`; `owner` lives as long as it does.
c10::Storage make_storage(void* data, int64_t bytes, Memory memory, std::shared_ptr<void> owner);

/// A CPU tensor on a storage. The caller has checked that it lies inside.
at::Tensor make_tensor(c10::Storage storage, c10::ScalarType type, c10::IntArrayRef sizes,
                       c10::IntArrayRef strides, int64_t offset);

Memory memory_of(const at::Tensor& tensor);

/// A tensor of no dimensions that, in arithmetic, counts as a Python number.
at::Tensor number_tensor(const c10::IValue& number);

/// A tensor over the caller's memory. Throws Error{kInvalid} naming `what` for memory that is not
/// row-major, Error{kUnsupported} for memory that is not in main memory or of an unknown type.
at::Tensor wrap(const abi::DLTensor& tensor, Memory memory, std::string_view what);

/// Hands a tensor over as row-major main memory that nobody else writes to: what the caller, a file
/// or the session's state owns is copied.
abi::DLManagedTensor* hand_over(at::Tensor tensor, std::string_view what);

/// The same without a copy: the receiver shares the memory.
abi::DLManagedTensor* share(at::Tensor tensor, std::string_view what);

/// Throws Error{kInvalid} naming `what` unless the memory has the result's dtype and shape.
void check_fits(const abi::DLTensor& memory, const at::Tensor& result, std::string_view what);
/// Copies a result into memory that fits; does nothing when it lies there already.
void copy_into(const abi::DLTensor& memory, const at::Tensor& result, std::string_view what);

/// The address of a tensor's first element.
inline void* address(const abi::DLTensor& tensor) {
  return tensor.data != nullptr ? static_cast<char*>(tensor.data) + tensor.byte_offset : nullptr;
}

}  // namespace slipway::dynamo_runner

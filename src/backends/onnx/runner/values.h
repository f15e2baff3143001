// Tensors between DLPack and ONNX Runtime, without copies.
#pragma once

#include <memory>
#include <string_view>

#include "backends/onnx/runner/ort.h"
#include "runtime/dlpack.h"

namespace slipway::onnx_runner {

/// The DLPack type of an element type. Throws Error{kUnsupported} naming `what` for types that no
/// tensor of ours has (strings, 4-bit integers, complex numbers).
abi::DLDataType dlpack_type(ONNXTensorElementDataType type, std::string_view what);

/// A value over the caller's memory. Throws Error{kInvalid} naming `what` for memory that is not
/// row-major or not in main memory.
Ort::Value wrap_tensor(const abi::DLTensor& tensor, std::string_view what);

/// Hands a value over; it and `session` live until the receiver calls the deleter.
abi::DLManagedTensor* hand_over(Ort::Value value, std::shared_ptr<void> session,
                                std::string_view what);

}  // namespace slipway::onnx_runner

// Tensors between DLPack and OpenVINO, without copies.
#pragma once

#include <memory>
#include <string_view>

#include "backends/openvino/runner/ov.h"
#include "runtime/dlpack.h"

namespace slipway::openvino_runner {

/// Throws Error{kUnsupported} naming `what` for types that no tensor of ours has.
abi::DLDataType dlpack_type(const ov::element::Type& type, std::string_view what);

/// A view of the caller's memory. Throws Error naming `what` for memory that is not on the host,
/// not row-major, or of a type that OpenVINO lacks.
ov::Tensor wrap_tensor(const abi::DLTensor& tensor, std::string_view what);

/// Gives a tensor away; `owner` lives as long as it does.
abi::DLManagedTensor* hand_over(ov::Tensor tensor, std::shared_ptr<void> owner,
                                std::string_view what);

/// The same elements in memory of its own.
ov::Tensor copy_of(const ov::Tensor& tensor);

}  // namespace slipway::openvino_runner

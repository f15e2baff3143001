// Tensors between DLPack and ONNX Runtime, without copies.
#include "backends/onnx/runner/values.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "runtime/dlpack_host.h"
#include "slipway/error.h"

namespace slipway::onnx_runner {
namespace {

struct TypePair {
  ONNXTensorElementDataType onnx;
  DType dtype;
};

constexpr TypePair kTypes[] = {
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DType::kF32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DType::kF64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DType::kF16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DType::kBF16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, DType::kF8E4M3},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, DType::kF8E5M2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DType::kI64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DType::kI32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DType::kI16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DType::kI8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DType::kU64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DType::kU32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DType::kU16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DType::kU8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DType::kBool},
};

ONNXTensorElementDataType onnx_type(abi::DLDataType type, std::string_view what) {
  const std::optional<DType> dtype = abi::from_dlpack(type);
  for (const TypePair& pair : kTypes)
    if (dtype == pair.dtype) return pair.onnx;
  throw Error(kUnsupported, fmt::format("[onnx] {} has the DLPack type code {}, {} bits; ONNX "
                                        "Runtime takes no such tensor",
                                        what, type.code, type.bits));
}

/// What keeps a handed-over tensor alive.
struct Handed {
  Ort::Value value{nullptr};
  std::shared_ptr<void> session;
  std::vector<int64_t> shape;
  abi::DLManagedTensor managed{};
};

}  // namespace

abi::DLDataType dlpack_type(ONNXTensorElementDataType type, std::string_view what) {
  for (const TypePair& pair : kTypes)
    if (pair.onnx == type) return abi::to_dlpack(pair.dtype);
  throw Error(kUnsupported, fmt::format("[onnx] {} has the ONNX element type {}, need numbers of "
                                        "at least 8 bits or booleans",
                                        what, static_cast<int>(type)));
}

Ort::Value wrap_tensor(const abi::DLTensor& tensor, std::string_view what) {
  void* data = abi::host_data(tensor, "onnx", what);
  const int64_t bytes = abi::host_bytes(tensor, "onnx", what);
  const ONNXTensorElementDataType type = onnx_type(tensor.dtype, what);
  static const auto* memory =
      new Ort::MemoryInfo(Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault));
  return Ort::Value::CreateTensor(*memory, data, static_cast<size_t>(bytes), tensor.shape,
                                  static_cast<size_t>(tensor.ndim), type);
}

abi::DLManagedTensor* hand_over(Ort::Value value, std::shared_ptr<void> session,
                                std::string_view what) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  auto handed = std::make_unique<Handed>();
  handed->shape = info.GetShape();
  abi::DLTensor& tensor = handed->managed.dl_tensor;
  tensor.dtype = dlpack_type(info.GetElementType(), what);
  tensor.data = value.GetTensorMutableRawData();
  tensor.device = {abi::kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(handed->shape.size());
  tensor.shape = handed->shape.data();
  handed->value = std::move(value);
  handed->session = std::move(session);
  handed->managed.manager_ctx = handed.get();
  handed->managed.deleter = [](abi::DLManagedTensor* self) {
    delete static_cast<Handed*>(self->manager_ctx);
  };
  return &handed.release()->managed;
}

}  // namespace slipway::onnx_runner

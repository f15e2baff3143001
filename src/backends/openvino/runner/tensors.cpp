// Tensors between DLPack and OpenVINO, without copies.
#include "backends/openvino/runner/tensors.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/dlpack_host.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

constexpr std::pair<ov::element::Type_t, DType> kTypes[] = {
    {ov::element::Type_t::f32, DType::kF32},       {ov::element::Type_t::f64, DType::kF64},
    {ov::element::Type_t::f16, DType::kF16},       {ov::element::Type_t::bf16, DType::kBF16},
    {ov::element::Type_t::f8e4m3, DType::kF8E4M3}, {ov::element::Type_t::f8e5m2, DType::kF8E5M2},
    {ov::element::Type_t::i64, DType::kI64},       {ov::element::Type_t::i32, DType::kI32},
    {ov::element::Type_t::i16, DType::kI16},       {ov::element::Type_t::i8, DType::kI8},
    {ov::element::Type_t::u64, DType::kU64},       {ov::element::Type_t::u32, DType::kU32},
    {ov::element::Type_t::u16, DType::kU16},       {ov::element::Type_t::u8, DType::kU8},
    {ov::element::Type_t::boolean, DType::kBool},
};

/// What keeps a handed-over tensor alive.
struct Handed {
  ov::Tensor tensor;
  std::shared_ptr<void> owner;
  std::vector<int64_t> shape;
  abi::DLManagedTensor managed{};
};

}  // namespace

abi::DLDataType dlpack_type(const ov::element::Type& type, std::string_view what) {
  for (const auto& [theirs, ours] : kTypes)
    if (type == theirs) return abi::to_dlpack(ours);
  throw Error(kUnsupported, fmt::format("[openvino] {} is of {}, need numbers of at least 8 bits "
                                        "or booleans",
                                        what, type.get_type_name()));
}

ov::Tensor wrap_tensor(const abi::DLTensor& tensor, std::string_view what) {
  void* data = abi::host_data(tensor, "openvino", what);
  const std::optional<DType> dtype = abi::from_dlpack(tensor.dtype);
  for (const auto& [theirs, ours] : kTypes)
    if (dtype == ours)
      return {ov::element::Type(theirs), ov::Shape(tensor.shape, tensor.shape + tensor.ndim), data};
  throw Error(kUnsupported, fmt::format("[openvino] {} has the DLPack type code {}, {} bits; "
                                        "OpenVINO takes no such tensor",
                                        what, tensor.dtype.code, tensor.dtype.bits));
}

abi::DLManagedTensor* hand_over(ov::Tensor value, std::shared_ptr<void> owner,
                                std::string_view what) {
  auto handed = std::make_unique<Handed>();
  const ov::Shape shape = value.get_shape();
  handed->shape.assign(shape.begin(), shape.end());
  abi::DLTensor& tensor = handed->managed.dl_tensor;
  tensor.dtype = dlpack_type(value.get_element_type(), what);
  tensor.data = value.data();
  tensor.device = {abi::kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(handed->shape.size());
  tensor.shape = handed->shape.data();
  handed->tensor = std::move(value);
  handed->owner = std::move(owner);
  handed->managed.manager_ctx = handed.get();
  handed->managed.deleter = [](abi::DLManagedTensor* self) {
    delete static_cast<Handed*>(self->manager_ctx);
  };
  return &handed.release()->managed;
}

ov::Tensor copy_of(const ov::Tensor& tensor) {
  ov::Tensor copy(tensor.get_element_type(), tensor.get_shape());
  tensor.copy_to(copy);
  return copy;
}

}  // namespace slipway::openvino_runner

// Tensors over memory that libtorch does not own, and the way back to the host.
#include "backends/dynamo/runner/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>

#include "backends/dynamo/runner/enums.h"
#include "runtime/dlpack_host.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

/// What stands behind a storage of ours.
struct Context {
  Memory memory;
  std::shared_ptr<void> owner;
};

void release(void* context) { delete static_cast<Context*>(context); }

/// What keeps a handed-over tensor alive.
struct Handed {
  at::Tensor tensor;
  abi::DLManagedTensor managed{};
};

}  // namespace

c10::Storage make_storage(void* data, int64_t bytes, Memory memory, std::shared_ptr<void> owner) {
  auto context = std::make_unique<Context>(Context{memory, std::move(owner)});
  c10::DataPtr pointer(data, context.get(), release, c10::Device(c10::DeviceType::CPU));
  (void)context.release();  // the storage frees it
  return c10::Storage(c10::Storage::use_byte_size_t(), static_cast<size_t>(bytes),
                      std::move(pointer), /*allocator=*/nullptr, /*resizable=*/false);
}

at::Tensor make_tensor(c10::Storage storage, c10::ScalarType type, c10::IntArrayRef sizes,
                       c10::IntArrayRef strides, int64_t offset) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return tensor;
}

Memory memory_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return Memory::kGraph;
  const c10::DataPtr& pointer = tensor.storage().data_ptr();
  if (pointer.get_deleter() != release) return Memory::kGraph;
  return static_cast<const Context*>(pointer.get_context())->memory;
}

at::Tensor number_tensor(const c10::IValue& number) {
  at::Tensor tensor;
  if (number.isInt()) {
    tensor = at::detail::empty_cpu({}, c10::ScalarType::Long);
    *tensor.mutable_data_ptr<int64_t>() = number.toInt();
  } else if (number.isDouble()) {
    tensor = at::detail::empty_cpu({}, c10::ScalarType::Double);
    *tensor.mutable_data_ptr<double>() = number.toDouble();
  } else if (number.isBool()) {
    tensor = at::detail::empty_cpu({}, c10::ScalarType::Bool);
    *tensor.mutable_data_ptr<bool>() = number.toBool();
  } else if (number.isComplexDouble()) {
    tensor = at::detail::empty_cpu({}, c10::ScalarType::ComplexDouble);
    *tensor.mutable_data_ptr<c10::complex<double>>() = number.toComplexDouble();
  } else {
    throw Error(kInvalid, fmt::format("[dynamo] got {} for a tensor", number.tagKind()));
  }
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

at::Tensor wrap(const abi::DLTensor& tensor, Memory memory, std::string_view what) {
  abi::host_data(tensor, "dynamo", what);
  const std::optional<DType> dtype = abi::from_dlpack(tensor.dtype);
  if (!dtype)
    throw Error(kUnsupported,
                fmt::format("[dynamo] {} has the DLPack type code {}, {} bits; there is no such "
                            "tensor",
                            what, tensor.dtype.code, tensor.dtype.bits));
  const auto rank = static_cast<size_t>(tensor.ndim);
  const int64_t bytes = abi::host_bytes(tensor, "dynamo", what);
  std::vector<int64_t> strides(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(tensor.shape[i], 1);
  }
  return make_tensor(make_storage(address(tensor), bytes, memory, nullptr), scalar_type(*dtype),
                     c10::IntArrayRef(tensor.shape, rank), strides, 0);
}

abi::DLManagedTensor* hand_over(at::Tensor tensor, std::string_view what) {
  if (!tensor.is_cpu()) tensor = tensor.to(c10::Device(c10::DeviceType::CPU));
  // Conjugated and negated views are flags on a tensor; the clone resolves them.
  const bool plain = tensor.is_contiguous() && !tensor.is_neg() && !tensor.is_conj();
  if (!plain) tensor = tensor.clone(c10::MemoryFormat::Contiguous);
  else if (memory_of(tensor) != Memory::kGraph) tensor = tensor.clone();
  return share(std::move(tensor), what);
}

abi::DLManagedTensor* share(at::Tensor tensor, std::string_view what) {
  auto handed = std::make_unique<Handed>();
  handed->tensor = std::move(tensor);
  const at::Tensor& kept = handed->tensor;
  abi::DLTensor& out = handed->managed.dl_tensor;
  out.dtype = abi::to_dlpack(dtype_of(kept.scalar_type(), what));
  out.data = kept.numel() == 0 ? nullptr : kept.mutable_data_ptr();
  out.device = {abi::kDLCPU, 0};
  out.ndim = static_cast<int32_t>(kept.dim());
  out.shape = const_cast<int64_t*>(kept.sizes().data());  // the receiver only reads it
  handed->managed.manager_ctx = handed.get();
  handed->managed.deleter = [](abi::DLManagedTensor* self) {
    delete static_cast<Handed*>(self->manager_ctx);
  };
  return &handed.release()->managed;
}

void check_fits(const abi::DLTensor& memory, const at::Tensor& result, std::string_view what) {
  const at::Tensor target = wrap(memory, Memory::kWritable, what);
  if (target.scalar_type() != result.scalar_type() || target.sizes() != result.sizes())
    throw Error(kInvalid, fmt::format("[dynamo] {} is {} {}, the memory given for it is {} {}",
                                      what, c10::toString(result.scalar_type()),
                                      fmt::format("[{}]", fmt::join(result.sizes(), ", ")),
                                      c10::toString(target.scalar_type()),
                                      fmt::format("[{}]", fmt::join(target.sizes(), ", "))));
}

void copy_into(const abi::DLTensor& memory, const at::Tensor& result, std::string_view what) {
  const at::Tensor target = wrap(memory, Memory::kWritable, what);
  if (target.numel() == 0) return;
  const bool plain = result.is_cpu() && result.is_contiguous() && !result.is_neg();
  if (plain && result.const_data_ptr() == target.const_data_ptr()) return;
  if (plain) std::memmove(target.mutable_data_ptr(), result.const_data_ptr(), result.nbytes());
  else target.copy_(result);
}

}  // namespace slipway::dynamo_runner

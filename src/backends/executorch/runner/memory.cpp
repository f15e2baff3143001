// Memory of arenas and outputs, and tensors between DLPack and ExecuTorch.
#include "backends/executorch/runner/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "slipway/error.h"

namespace slipway::executorch_runner {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
/// A larger arena is planned for bounds that few runs reach: most of it is never written, and huge
/// pages would take it all (440 MB for SmolLM2-135M at the bounds by default).
constexpr size_t kMostHuge = size_t{64} << 20;

bool is_row_major(const abi::DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// What keeps a handed-over tensor alive.
struct Handed {
  Tensor tensor;
  Pages pages;
  Shape shape;
  abi::DLManagedTensor managed{};
};

abi::DLManagedTensor* hand_over(std::unique_ptr<Handed> handed, DType dtype, void* data) {
  abi::DLTensor& tensor = handed->managed.dl_tensor;
  tensor.dtype = abi::to_dlpack(dtype);
  tensor.data = data;
  tensor.device = {abi::kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(handed->shape.size());
  tensor.shape = handed->shape.data();
  handed->managed.manager_ctx = handed.get();
  handed->managed.deleter = [](abi::DLManagedTensor* self) {
    delete static_cast<Handed*>(self->manager_ctx);
  };
  return &handed.release()->managed;
}

}  // namespace

Pages::Pages(size_t bytes) {
  if (bytes == 0) return;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw Error(kEnvironment, fmt::format("[executorch] the system gives no {} bytes of memory: {}",
                                          bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  if (bytes >= kHugePage && bytes <= kMostHuge) ::madvise(data, bytes, MADV_HUGEPAGE);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void Pages::clear() {
  if (data_ != nullptr) ::madvise(data_, bytes_, MADV_DONTNEED);
}

View::View(const abi::DLTensor& tensor, DType dtype, std::string_view what)
    : shape(tensor.shape, tensor.shape + tensor.ndim), data(address(tensor)) {
  const int32_t where = tensor.device.device_type;
  if (where != abi::kDLCPU && where != abi::kDLCUDAHost)
    throw Error(kUnsupported, fmt::format("[executorch] {} is on the DLPack device {}, need main "
                                          "memory",
                                          what, where));
  if (!is_row_major(tensor))
    throw Error(kInvalid, fmt::format("[executorch] {} has strides, need row-major memory", what));
  const std::optional<DType> given = abi::from_dlpack(tensor.dtype);
  if (given != dtype)
    throw Error(kInvalid,
                fmt::format("[executorch] {} is {}, need {}", what,
                            given ? torch_name(*given) : "of an unknown type", torch_name(dtype)));
  numel(shape);  // throws for sizes that no memory holds
}

abi::DLManagedTensor* hand_over(DType dtype, Shape shape, const std::byte* data) {
  auto handed = std::make_unique<Handed>();
  handed->shape = shape;
  handed->tensor = Tensor(dtype, std::move(shape));
  std::byte* to = handed->tensor.mutable_data();
  if (handed->tensor.nbytes() > 0)
    std::memcpy(to, data, static_cast<size_t>(handed->tensor.nbytes()));
  return hand_over(std::move(handed), dtype, to);
}

abi::DLManagedTensor* hand_over(DType dtype, Shape shape, Pages pages) {
  auto handed = std::make_unique<Handed>();
  handed->shape = std::move(shape);
  handed->pages = std::move(pages);
  std::byte* data = handed->pages.data();
  return hand_over(std::move(handed), dtype, data);
}

}  // namespace slipway::executorch_runner

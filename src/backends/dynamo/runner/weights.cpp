// The weights and constants of an archive as tensors over the mapped file.
#include "backends/dynamo/runner/weights.h"

#include <fmt/format.h>

#include <cstring>

#include "backends/dynamo/runner/enums.h"
#include "backends/dynamo/runner/memory.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;

int64_t number(const schema::SymInt& size, const std::string& name) {
  const auto* value = std::get_if<int64_t>(&size.value);
  if (value == nullptr || *value < 0)
    throw Error(kInvalid, fmt::format("[pt2] {} has a size or stride that is not a number of 0 or "
                                      "more",
                                      quote(name)));
  return *value;
}

/// The elements of a storage that a tensor reaches.
int64_t extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
               int64_t offset, const std::string& name) {
  int64_t last = offset, elements = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t span = 0;
    // Strides of 0 repeat elements: their number counts as well.
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) ||
        __builtin_add_overflow(last, span, &last) ||
        __builtin_mul_overflow(elements, sizes[i], &elements))
      throw Error(kInvalid, fmt::format("[pt2] {} has a size that no memory holds", quote(name)));
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t{16}, &bytes) || last == INT64_MAX)
    throw Error(kInvalid, fmt::format("[pt2] {} has a size that no memory holds", quote(name)));
  return last + 1;
}

}  // namespace

Weights::Weights(const dynamo::ProgramFile& file, const std::set<std::string>& written)
    : archive_(file.archive) {
  for (const auto& [name, meta] : file.weights.config)
    payloads_.emplace(name, Payload{"data/weights/", meta});
  for (const auto& [name, meta] : file.constants.config)
    payloads_.emplace(name, Payload{"data/constants/", meta});
  for (const auto& [name, payload] : payloads_)
    if (written.contains(name)) state_.insert(payload.folder + payload.meta.path_name);
}

c10::Storage Weights::storage(const Payload& payload, const std::string& name,
                              int64_t alignment) const {
  const std::string path = payload.folder + payload.meta.path_name;
  if (const auto at = storages_.find(path); at != storages_.end()) return at->second;
  const dynamo::Archive::Entry* entry = archive_->find(path);
  if (entry == nullptr)
    throw Error(kInvalid,
                fmt::format("[pt2] the archive has no entry {} for {}", quote(path), quote(name)));
  const ByteSpan bytes = archive_->bytes(*entry);
  const bool is_state = state_.contains(path);
  // Read only unless it is copied; execute() checks that.
  void* data = const_cast<std::byte*>(bytes.data());
  std::shared_ptr<void> owner = std::const_pointer_cast<dynamo::Archive>(archive_);
  if (is_state || reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) != 0) {
    const auto copy = std::make_shared<std::vector<std::max_align_t>>(
        bytes.size() / sizeof(std::max_align_t) + 1);
    std::memcpy(copy->data(), data, bytes.size());
    data = copy->data();
    owner = copy;
  }
  c10::Storage made = make_storage(data, static_cast<int64_t>(bytes.size()),
                                   is_state ? Memory::kState : Memory::kMapped, std::move(owner));
  storages_.emplace(path, made);
  return made;
}

at::Tensor Weights::load(const std::string& name) const {
  const auto at = payloads_.find(name);
  if (at == payloads_.end())
    throw Error(kInvalid,
                fmt::format("[pt2] the archive has no weight or constant {}; the program needs it",
                            quote(name)));
  const schema::PayloadMeta& meta = at->second.meta;
  if (meta.use_pickle || !meta.tensor_meta)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} is stored as a pickle, which is not read: nothing in a file "
                            "is executed",
                            quote(name)));
  const schema::TensorMeta& tensor = *meta.tensor_meta;
  const c10::ScalarType type = scalar_type(tensor.dtype);
  if (tensor.layout.value != schema::kStrided)
    throw Error(kUnsupported, fmt::format("[pt2] {} is not a dense tensor", quote(name)));
  if (tensor.sizes.size() != tensor.strides.size())
    throw Error(kInvalid, fmt::format("[pt2] {} has {} sizes and {} strides", quote(name),
                                      tensor.sizes.size(), tensor.strides.size()));
  std::vector<int64_t> sizes, strides;
  for (const schema::SymInt& size : tensor.sizes) sizes.push_back(number(size, name));
  for (const schema::SymInt& stride : tensor.strides) strides.push_back(number(stride, name));
  const int64_t offset = number(tensor.storage_offset, name);
  const auto itemsize = static_cast<int64_t>(c10::elementSize(type));
  const int64_t needs = extent(sizes, strides, offset, name);
  const c10::Storage memory = storage(at->second, name, itemsize);
  const auto has = static_cast<int64_t>(memory.nbytes()) / itemsize;
  if (needs > has || offset > has)
    throw Error(kInvalid,
                fmt::format("[pt2] {} needs {} elements of its entry {}, which has {}", quote(name),
                            std::max(needs, offset), quote(meta.path_name), has));
  return make_tensor(memory, type, sizes, strides, offset);
}

}  // namespace slipway::dynamo_runner

// Mapped safetensors files as a store, and reading and writing whole files.
#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "base/output.h"
#include "checkpoint/mapped_tensor.h"

namespace slipway {
namespace {

class FileStore final : public WeightStore {
 public:
  explicit FileStore(const std::filesystem::path& path) : description_(display(path.filename())) {
    const auto file = MappedFile::open(path);
    for (const SafetensorsEntry& e : parse_safetensors(file->bytes(), display(path))) {
      names_.push_back(e.name);
      tensors_.push_back(mapped_tensor(file, e.dtype, e.shape, e.begin));
    }
  }

  const std::vector<std::string>& names() const override { return names_; }
  std::string description() const override { return description_; }

  Lazy find(std::string_view name) const override {
    const auto at = std::lower_bound(names_.begin(), names_.end(), name);
    if (at == names_.end() || *at != name) return nullptr;
    return tensors_[static_cast<size_t>(at - names_.begin())];
  }

 private:
  std::vector<std::string> names_;  // sorted, tensors_ in the same order
  std::vector<Lazy> tensors_;
  std::string description_;
};

}  // namespace

std::unique_ptr<WeightStore> open_safetensors_file(const std::filesystem::path& path) {
  return std::make_unique<FileStore>(path);
}

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  const FileStore store(path);
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : store.names())
    tensors.emplace(name, materialize(*store.find(name)));
  return tensors;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors) {
  // Wide elements first, so that every tensor is aligned to its element size.
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    SLIPWAY_ASSERT(tensor.defined());
    order.emplace_back(&name, &tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return itemsize(a.second->dtype()) > itemsize(b.second->dtype());
  });
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}};
  int64_t at = 0;
  for (const auto& [name, tensor] : order) {
    if (*name == "__metadata__")
      throw Error(kInvalid, "[safetensors] a tensor cannot be named __metadata__");
    header[*name] = {{"dtype", safetensors_name(tensor->dtype())},
                     {"shape", tensor->shape()},
                     {"data_offsets", {at, at + tensor->nbytes()}}};
    at += tensor->nbytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw Error(kInvalid,
                fmt::format("[safetensors] {}: a tensor name is not valid UTF-8", display(path)));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  write_file(path, [&](OutputFile& file) {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
    file.append(length + text);
    for (const auto& [name, tensor] : order)
      file.append(ByteSpan(tensor->data(), static_cast<size_t>(tensor->nbytes())));
  });
}

}  // namespace slipway

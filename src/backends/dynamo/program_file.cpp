// Opens .pt2 files, and checks their tensors against the bytes that hold them.
#include "backends/dynamo/program_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/json.h"
#include "base/output.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

constexpr std::string_view kModels = "models/", kJson = ".json";
constexpr const char* kWeights = "data/weights/";
// A stride of 0 shows one element many times; beyond this it is no tensor but an attack.
constexpr int64_t kMostRepeated = 1 << 24;
constexpr const char* kConstants = "data/constants/";

/// The one program of an archive, by the name of its entry: models/NAME.json.
std::string program_name(const Archive& archive) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : archive.entries())
    if (name.starts_with(kModels) && name.ends_with(kJson) && name.size() > 12)
      names.push_back(name.substr(kModels.size(), name.size() - kModels.size() - kJson.size()));
  const std::string file = display(archive.file()->path());
  if (names.size() == 1) return names[0];
  if (names.size() > 1)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} holds {} programs, need one: save each into its own file",
                            file, names.size()));
  if (archive.find("serialized_exported_program.json") != nullptr)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} has the layout of torch 2.7 and earlier: load it there and "
                            "save it with torch 2.8 or later",
                            file));
  for (const auto& [name, entry] : archive.entries())
    if (name.starts_with("data/aotinductor/"))
      throw Error(kUnsupported,
                  fmt::format("[pt2] {} is a compiled AOTInductor package: it holds machine code "
                              "and no graph; use the file that torch.export.save wrote",
                              file));
  throw Error(kInvalid, fmt::format("[pt2] {} is not an exported program: there is no entry "
                                    "models/*.json",
                                    file));
}

constexpr auto kByName = [](const auto& item, const std::string& name) {
  return item.first < name;
};

schema::PayloadConfig payloads(const Archive& archive, const std::string& entry) {
  if (archive.find(entry) == nullptr) return {};  // a program without weights
  schema::PayloadConfig payloads = schema::read_payloads(archive.text(entry), entry);
  std::sort(payloads.config.begin(), payloads.config.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return payloads;
}

const schema::PayloadMeta* find(const schema::PayloadConfig& payloads, const std::string& name) {
  const auto& config = payloads.config;
  const auto at = std::lower_bound(config.begin(), config.end(), name, kByName);
  return at != config.end() && at->first == name ? &at->second : nullptr;
}

int64_t fixed(const schema::SymInt& size, const std::string& name) {
  if (const auto* value = std::get_if<int64_t>(&size.value)) return *value;
  throw Error(kInvalid, fmt::format("[pt2] the stored tensor {} has a symbolic size", quote(name)));
}

/// Elements of a window's storage that it reaches, from the first: 1 + the offset of the last one.
int64_t reach(const StoredTensor& tensor, const std::string& name) {
  int64_t last = tensor.offset;
  bool overflow = tensor.offset < 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t step = 0;
    if (tensor.strides[i] < 0) overflow = true;
    overflow = overflow || __builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &step) ||
               __builtin_add_overflow(last, step, &last);
  }
  if (overflow || last == INT64_MAX)
    throw Error(kInvalid, fmt::format("[pt2] the stored tensor {} has impossible strides or offset",
                                      quote(name)));
  return last + 1;
}

/// A window that is not row-major, read element by element.
class StridedTensor final : public LazyTensor {
 public:
  StridedTensor(std::shared_ptr<const Archive> archive, const StoredTensor& tensor)
      : LazyTensor(tensor.dtype, tensor.shape), archive_(std::move(archive)), tensor_(tensor) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const ByteSpan bytes = archive_->bytes(tensor_.storage);
    const auto size = static_cast<size_t>(itemsize(dtype()));
    for (int64_t i = begin; i < begin + count; ++i, out += size) {
      int64_t at = tensor_.offset, rest = i;
      for (size_t d = shape().size(); d-- > 0;) {
        at += rest % shape()[d] * tensor_.strides[d];
        rest /= shape()[d];
      }
      std::memcpy(out, bytes.data() + static_cast<size_t>(at) * size, size);
    }
  }

 private:
  std::shared_ptr<const Archive> archive_;
  StoredTensor tensor_;
};

/// A row-major window.
class DenseTensor final : public LazyTensor {
 public:
  DenseTensor(std::shared_ptr<const Archive> archive, const StoredTensor& tensor)
      : LazyTensor(tensor.dtype, tensor.shape), archive_(std::move(archive)) {
    if (nbytes() == 0) return;
    bytes_ = archive_->bytes(tensor.storage)
                 .subspan(static_cast<size_t>(tensor.offset * itemsize(tensor.dtype)),
                          static_cast<size_t>(nbytes()));
  }

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const auto size = static_cast<size_t>(itemsize(dtype()));
    if (count > 0)
      std::memcpy(out, bytes_.data() + static_cast<size_t>(begin) * size,
                  static_cast<size_t>(count) * size);
  }
  std::optional<ByteSpan> view() const override { return bytes_; }

 private:
  std::shared_ptr<const Archive> archive_;
  ByteSpan bytes_;
};

}  // namespace

bool StoredTensor::contiguous() const {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != step) return slipway::numel(shape) == 0;
    step *= shape[i];
  }
  return true;
}

ProgramFile ProgramFile::open(const std::filesystem::path& path) {
  ProgramFile file;
  file.archive = Archive::open(path);
  const std::string name = program_name(*file.archive);
  if (const Archive::Entry* order = file.archive->find("byteorder"))
    if (order->size != 6 || file.archive->text("byteorder") != "little")
      throw Error(
          kUnsupported,
          fmt::format("[pt2] {} was written on a machine of another byte order", display(path)));
  const std::string entry = fmt::format("models/{}.json", name);
  file.program = schema::read_program(file.archive->text(entry), entry);
  file.weights = payloads(*file.archive, fmt::format("{}{}_weights_config.json", kWeights, name));
  file.constants =
      payloads(*file.archive, fmt::format("{}{}_constants_config.json", kConstants, name));
  return file;
}

StoredTensor ProgramFile::stored(const std::string& name) const {
  const schema::PayloadMeta* meta = find(weights, name);
  const char* folder = kWeights;
  if (meta == nullptr) {
    folder = kConstants;
    meta = find(constants, name);
  }
  if (meta == nullptr)
    throw Error(kInvalid, fmt::format("[pt2] {}: the program needs the weight {}, and the file has "
                                      "no such one",
                                      display(archive->file()->path()), quote(name, 120)));
  if (meta->use_pickle || !meta->tensor_meta)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} is pickled (a subclass of Tensor or a custom object), and "
                            "nothing is unpickled here: turn it into a plain tensor before "
                            "torch.export, and save again",
                            quote(name, 120)));
  const schema::TensorMeta& type = *meta->tensor_meta;
  const auto dtype = schema::to_dtype(type.dtype);
  if (!dtype || type.layout.value != schema::kStrided)
    throw Error(kUnsupported,
                fmt::format("[pt2] {} is a tensor of dtype {}, layout {}; need a "
                            "strided one of a real dtype",
                            quote(name, 120), schema::to_string(type.dtype), type.layout.value));
  StoredTensor tensor{*dtype, {}, {}, fixed(type.storage_offset, name), {}};
  for (const schema::SymInt& size : type.sizes) tensor.shape.push_back(fixed(size, name));
  for (const schema::SymInt& stride : type.strides) tensor.strides.push_back(fixed(stride, name));
  int64_t elements = 1;
  bool bad = tensor.strides.size() != tensor.shape.size();
  for (const int64_t size : tensor.shape)
    bad = bad || size < 0 || __builtin_mul_overflow(elements, size, &elements);
  if (bad)
    throw Error(kInvalid,
                fmt::format("[pt2] the stored tensor {} has impossible sizes", quote(name, 120)));
  tensor.storage = archive->at(folder + meta->path_name);
  if (elements == 0) return tensor;
  const int64_t need = reach(tensor, name), have = tensor.storage.size / itemsize(*dtype);
  if (need > have)
    throw Error(kInvalid, fmt::format("[pt2] {} needs {} elements of {}, its entry {} has {}",
                                      quote(name, 120), need, short_name(*dtype),
                                      quote(meta->path_name), have));
  if (elements > std::max(have, kMostRepeated))
    throw Error(kInvalid,
                fmt::format("[pt2] {} shows its {} stored elements as {}, need at most {}",
                            quote(name, 120), have, elements, kMostRepeated));
  return tensor;
}

Lazy stored_tensor(const ProgramFile& file, const StoredTensor& tensor) {
  if (tensor.contiguous()) return std::make_shared<DenseTensor>(file.archive, tensor);
  return std::make_shared<StridedTensor>(file.archive, tensor);
}

}  // namespace slipway::dynamo

// The GGUF container: every field checked against the bytes that are there.
#include "checkpoint/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/json.h"
#include "checkpoint/gguf_quant.h"

namespace slipway {

static_assert(std::endian::native == std::endian::little, "GGUF values are read in place");

namespace {

constexpr size_t kMaxName = 65535;          // the format's limit of a key
constexpr uint64_t kMaxKeys = 1u << 16;     // real files have under 100
constexpr uint64_t kMaxTensors = 1u << 20;  // and at most some thousand tensors
constexpr size_t kMinKey = 8 + 4 + 1, kMinTensor = 8 + 4 + 4 + 8;

}  // namespace

class GgufParser {
 public:
  GgufParser(ByteSpan bytes, std::string where)
      : bytes_(bytes), file_(new GgufFile(std::move(where))) {}

  std::shared_ptr<GgufFile> parse() {
    check_start();
    const auto tensors = count("tensors", kMinTensor, kMaxTensors);
    const auto keys = count("metadata keys", kMinKey, kMaxKeys);
    for (uint64_t i = 0; i < keys; ++i) read_key();
    const auto parts = file_->metadata().find_int("split.count", 0, UINT16_MAX);
    if (parts && *parts > 1)
      unsupported(fmt::format("the model is split over {} files; merge them into one", *parts));
    file_->tensors_.reserve(tensors);
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    index_names();
    return std::move(file_);
  }

 private:
  [[noreturn]] void invalid(const std::string& problem) const {
    throw Error(kInvalid, fmt::format("[gguf] {}: {}", file_->where(), problem));
  }
  [[noreturn]] void unsupported(const std::string& problem) const {
    throw Error(kUnsupported, fmt::format("[gguf] {}: {}", file_->where(), problem));
  }

  size_t left() const { return bytes_.size() - at_; }

  ByteSpan take(uint64_t n, const char* what) {
    if (n > left())
      invalid(
          fmt::format("got a file of {} bytes, {} at byte {} needs {} more; it was cut short "
                      "or is damaged, fetch it again",
                      bytes_.size(), what, at_, n - left()));
    const ByteSpan out = bytes_.subspan(at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return out;
  }

  template <class T>
  T read(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string_view name(const char* what) {
    const size_t start = at_;
    const auto length = read<uint64_t>(what);
    if (length == 0 || length > kMaxName)
      invalid(fmt::format("{} at byte {}: got a name of {} bytes, need 1 to {}", what, start,
                          length, kMaxName));
    const ByteSpan raw = take(length, what);
    const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (!is_utf8(text) || std::any_of(text.begin(), text.end(), control))
      invalid(fmt::format("{} at byte {}: got the name {}, need UTF-8 without control characters",
                          what, start, quote(text)));
    return text;
  }

  void check_start() {
    const std::string_view start(reinterpret_cast<const char*>(bytes_.data()),
                                 std::min<size_t>(bytes_.size(), 64));
    if (start.empty()) invalid("the file is empty (0 bytes); fetch it again");
    if (start.substr(0, 23) == "version https://git-lfs")
      invalid("got a Git LFS pointer in place of the file; fetch it with `git lfs pull`");
    if (start.substr(0, 4) != "GGUF")
      invalid(
          fmt::format("got a file of {} bytes that starts with {}, need \"GGUF\"; this is no "
                      "GGUF file",
                      bytes_.size(), quote(start.substr(0, 4))));
    at_ = 4;
    file_->version_ = read<uint32_t>("the version");
    if ((file_->version_ & 0xffff) == 0 && file_->version_ != 0)
      unsupported("the file is big-endian; convert it to little-endian");
    if (file_->version_ == 1) unsupported("GGUF version 1 is not read, need 2 or 3; convert it");
    if (file_->version_ != 2 && file_->version_ != 3)
      unsupported(fmt::format("GGUF version {} is not known, need 2 or 3", file_->version_));
  }

  /// A count of things that take at least `size` bytes each; so it cannot exceed what is left.
  uint64_t count(const char* what, size_t size, uint64_t limit) {
    const auto n = read<uint64_t>(what);
    if (n > left() / size)
      invalid(
          fmt::format("got {} {}, {} bytes of the file's {} are left for them; it was cut "
                      "short or is damaged",
                      n, what, left(), bytes_.size()));
    if (n > limit) unsupported(fmt::format("got {} {}, need at most {}", n, what, limit));
    return n;
  }

  void read_key() {
    const std::string_view key = name("a metadata key");
    GgufValue value;
    value.type = static_cast<GgufType>(read<uint32_t>("a metadata type"));
    if (value.type == GgufType::kString) {
      value.bytes = take(read<uint64_t>("a text's length"), "a text");
    } else if (value.type == GgufType::kArray) {
      read_array(key, value);
    } else {
      value.bytes = take(fixed_size(key, value.type), "a metadata value");
      check_bools(key, value.type, value.bytes);
    }
    if (!file_->metadata_.add(key, value))
      invalid(fmt::format("the metadata key {} appears twice", quote(key)));
  }

  size_t fixed_size(std::string_view key, GgufType type) const {
    const size_t size = gguf_type_size(type);
    if (size == 0)
      invalid(fmt::format("{}: got value type {}, need 0 to 12", quote(key),
                          static_cast<uint32_t>(type)));
    return size;
  }

  void check_bools(std::string_view key, GgufType type, ByteSpan values) const {
    if (type != GgufType::kBool) return;
    for (const std::byte b : values)
      if (std::to_integer<int>(b) > 1)
        invalid(
            fmt::format("{}: got a bool of {}, need 0 or 1", quote(key), std::to_integer<int>(b)));
  }

  void read_array(std::string_view key, GgufValue& value) {
    value.element = static_cast<GgufType>(read<uint32_t>("an array's type"));
    value.count = read<uint64_t>("an array's length");
    if (value.element == GgufType::kArray)
      unsupported(fmt::format("{} is an array of arrays", quote(key)));
    const size_t start = at_;
    const bool texts = value.element == GgufType::kString;
    const size_t size = texts ? 8 : fixed_size(key, value.element);
    if (value.count > left() / size)
      invalid(fmt::format(
          "{}: got an array of {} {}, {} bytes of the file's {} are left; it was "
          "cut short or is damaged",
          quote(key), value.count, gguf_type_name(value.element), left(), bytes_.size()));
    if (texts)
      for (uint64_t i = 0; i < value.count; ++i)
        take(read<uint64_t>("a text's length"), "a text of an array");
    else take(value.count * size, "an array");
    value.bytes = bytes_.subspan(start, at_ - start);
    check_bools(key, value.element, value.bytes);
  }

  void read_tensor() {
    GgufTensor tensor;
    tensor.name = name("a tensor's name");
    const auto rank = read<uint32_t>("a tensor's rank");
    if (rank > 4)
      invalid(
          fmt::format("tensor {}: got {} dimensions, need at most 4", quote(tensor.name), rank));
    for (uint32_t i = 0; i < rank; ++i) {
      const auto dim = read<uint64_t>("a tensor's dimensions");
      if (dim == 0 || dim > static_cast<uint64_t>(INT64_MAX))
        invalid(fmt::format("tensor {}: got a dimension of {}, need 1 to 2^63", quote(tensor.name),
                            dim));
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(dim));
    }
    tensor.type = read<uint32_t>("a tensor's type");
    offsets_.push_back(read<uint64_t>("a tensor's offset"));
    file_->tensors_.push_back(std::move(tensor));
  }

  /// The stored size of a tensor; its rows consist of whole blocks.
  uint64_t stored_bytes(const GgufTensor& tensor) const {
    const GgufEncoding* encoding = gguf_encoding(tensor.type);
    if (encoding == nullptr)
      unsupported(fmt::format("tensor {} has the unknown ggml type {}; supported: {}",
                              quote(tensor.name), tensor.type, gguf_supported_encodings()));
    const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % encoding->block != 0)
      invalid(fmt::format("tensor {}: got rows of {} elements, {} needs a multiple of {}",
                          quote(tensor.name), row, encoding->name, encoding->block));
    int64_t elements = 1, bytes = 0;
    for (const int64_t dim : tensor.shape)
      if (__builtin_mul_overflow(elements, dim, &elements) || elements > INT64_MAX / 4)
        invalid(fmt::format("tensor {} of shape {} has too many elements", quote(tensor.name),
                            shape_string(tensor.shape)));
    if (__builtin_mul_overflow(elements / encoding->block, encoding->bytes, &bytes))
      invalid(fmt::format("tensor {} of shape {} has too many bytes", quote(tensor.name),
                          shape_string(tensor.shape)));
    return static_cast<uint64_t>(bytes);
  }

  uint64_t alignment() const {
    const auto stated = file_->metadata().find_int("general.alignment", 1, 1 << 20);
    const auto n = static_cast<uint64_t>(stated.value_or(32));
    if (!std::has_single_bit(n) || n < 8)
      invalid(fmt::format("general.alignment: got {}, need a power of two of at least 8", n));
    return n;
  }

  /// Gives every tensor its bytes. The data begin at the first aligned byte after the table.
  void place_tensors() {
    const uint64_t unit = alignment();
    const auto aligned = [&](uint64_t n) { return (n + unit - 1) & ~(unit - 1); };
    const uint64_t data = offsets_.empty() ? at_ : aligned(at_);
    std::vector<Range> ranges;
    ranges.reserve(offsets_.size());
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const GgufTensor& tensor = file_->tensors_[i];
      if (offsets_[i] % unit != 0)
        invalid(fmt::format("tensor {}: got offset {}, need a multiple of the alignment {}",
                            quote(tensor.name), offsets_[i], unit));
      uint64_t begin = 0, end = 0;
      if (__builtin_add_overflow(data, offsets_[i], &begin) ||
          __builtin_add_overflow(begin, stored_bytes(tensor), &end) || end > INT64_MAX)
        invalid(fmt::format("tensor {}: offset {} is beyond any file", quote(tensor.name),
                            offsets_[i]));
      ranges.push_back({begin, end, i});
    }
    const uint64_t end = end_without_overlap(ranges).value_or(data);
    // Writers pad the last tensor or do not; anything else is a cut or a joined file.
    if (bytes_.size() != end && bytes_.size() != aligned(end))
      invalid(
          fmt::format("got a file of {} bytes, its tensor table needs {}; it was cut short or "
                      "is damaged, fetch it again",
                      bytes_.size(), end));
    for (const Range& range : ranges)
      file_->tensors_[range.tensor].bytes = bytes_.subspan(
          static_cast<size_t>(range.begin), static_cast<size_t>(range.end - range.begin));
  }

  struct Range {
    uint64_t begin, end;
    size_t tensor;
  };

  /// The end of the last range; no range may reach into the next.
  std::optional<uint64_t> end_without_overlap(std::vector<Range> ranges) const {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.tensor < b.tensor;
    });
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].begin < ranges[i - 1].end)
        invalid(fmt::format("tensors {} and {} overlap",
                            quote(file_->tensors_[ranges[i - 1].tensor].name),
                            quote(file_->tensors_[ranges[i].tensor].name)));
    if (ranges.empty()) return std::nullopt;
    return ranges.back().end;
  }

  void index_names() {
    const auto& tensors = file_->tensors_;
    auto& order = file_->by_name_;
    order.resize(tensors.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    for (size_t i = 1; i < order.size(); ++i)
      if (tensors[order[i]].name == tensors[order[i - 1]].name)
        invalid(fmt::format("the tensor {} appears twice", quote(tensors[order[i]].name)));
  }

  ByteSpan bytes_;
  size_t at_ = 0;
  std::shared_ptr<GgufFile> file_;
  std::vector<uint64_t> offsets_;
};

std::shared_ptr<const GgufFile> GgufFile::parse(ByteSpan bytes, std::string where,
                                                std::shared_ptr<const void> owner) {
  auto file = GgufParser(bytes, std::move(where)).parse();
  file->owner_ = std::move(owner);
  return file;
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto at =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  if (at == by_name_.end() || tensors_[*at].name != name) return nullptr;
  return &tensors_[*at];
}

}  // namespace slipway

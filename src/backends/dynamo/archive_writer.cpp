// The bytes of a stored zip archive (PKWARE APPNOTE 6.3.10), written in one pass over each tensor.
#include "backends/dynamo/archive_writer.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>

#include "base/output.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

constexpr int64_t kPiece = int64_t{4} << 20;
constexpr int64_t kLocalHeader = 30, kZip64Fields = 20, kPaddingField = 4;
constexpr uint16_t kUtf8 = 0x0800, kVersion = 20, kVersion64 = 45;
constexpr uint16_t kMidnight = 0, kFirstDay = 0x21;  // 1980-01-01
constexpr uint16_t kZip64 = 1, kPadding = 0x4246;    // "FB", as torch's writer names the gap
constexpr size_t kDigestDigits = 40;

/// Little-endian fields one after another.
class Fields {
 public:
  template <class T>
  Fields& add(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      text_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
    return *this;
  }
  Fields& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  Fields& u16(uint64_t value) { return add(static_cast<uint16_t>(value)); }
  Fields& u32(uint64_t value) { return add(static_cast<uint32_t>(value)); }
  Fields& u64(uint64_t value) { return add(value); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span<const char>(text)); }

uint32_t crc_of(uint32_t so_far, ByteSpan bytes) {
  return libdeflate_crc32(so_far, bytes.data(), bytes.size());
}

/// Elements to compute at a time: about kPiece bytes, whole granules, at least one.
int64_t piece_elements(const LazyTensor& tensor) {
  const int64_t granule = std::max<int64_t>(1, tensor.granularity());
  return std::max(granule, kPiece / itemsize(tensor.dtype()) / granule * granule);
}

uint32_t write_tensor(const LazyTensor& tensor, int64_t offset,
                      const std::function<void(int64_t, ByteSpan)>& sink) {
  uint32_t crc = 0;
  const int64_t step = piece_elements(tensor), size = itemsize(tensor.dtype());
  const std::optional<ByteSpan> whole = tensor.view();
  thread_local std::vector<std::byte> buffer;
  for (int64_t at = 0; at < tensor.numel(); at += step) {
    const int64_t count = std::min(step, tensor.numel() - at);
    const auto bytes = static_cast<size_t>(count * size);
    ByteSpan piece;
    if (whole) {
      piece = whole->subspan(static_cast<size_t>(at * size), bytes);
    } else {
      buffer.resize(std::max(buffer.size(), bytes));
      tensor.read(at, count, buffer.data());
      piece = ByteSpan(buffer.data(), bytes);
    }
    crc = crc_of(crc, piece);
    sink(offset + at * size, piece);
  }
  return crc;
}

}  // namespace

ArchiveWriter::ArchiveWriter(std::string root, int64_t zip64_from)
    : root_(std::move(root)), zip64_from_(zip64_from) {}

bool ArchiveWriter::is_wide(const Entry& entry) const { return entry.size >= zip64_from_; }

void ArchiveWriter::append(const std::string& name,
                           std::variant<std::string, Lazy, Digest> contents, int64_t size) {
  Entry entry{root_ + "/" + name, std::move(contents), end_, 0, size};
  SLIPWAY_ASSERT(entry.name.size() <= std::numeric_limits<uint16_t>::max());
  for (const Entry& other : entries_) SLIPWAY_ASSERT(other.name != entry.name);
  const int64_t before = end_ + kLocalHeader + static_cast<int64_t>(entry.name.size()) +
                         (is_wide(entry) ? kZip64Fields : 0) + kPaddingField;
  entry.data = (before + kAlignment - 1) / kAlignment * kAlignment;
  end_ = entry.data + size;
  entries_.push_back(std::move(entry));
}

void ArchiveWriter::add(const std::string& name, std::string contents) {
  const auto size = static_cast<int64_t>(contents.size());
  append(name, std::move(contents), size);
}

void ArchiveWriter::add(const std::string& name, Lazy tensor) {
  const int64_t size = tensor->nbytes();
  append(name, std::move(tensor), size);
}

void ArchiveWriter::add_digest(const std::string& name) {
  append(name, Digest{}, static_cast<int64_t>(kDigestDigits));
}

std::string ArchiveWriter::local_header(const Entry& entry, uint32_t crc) const {
  const bool wide = is_wide(entry);
  const auto size = static_cast<uint64_t>(entry.size);
  const int64_t gap = entry.data - entry.header - kLocalHeader -
                      static_cast<int64_t>(entry.name.size()) - (wide ? kZip64Fields : 0);
  Fields f;
  f.add(std::string_view("PK\3\4")).u16(wide ? kVersion64 : kVersion).u16(kUtf8).u16(0);
  f.u16(kMidnight).u16(kFirstDay).u32(crc).u32(wide ? UINT32_MAX : size);
  f.u32(wide ? UINT32_MAX : size).u16(entry.name.size());
  f.u16(static_cast<uint64_t>(gap + (wide ? kZip64Fields : 0))).add(std::string_view(entry.name));
  if (wide) f.u16(kZip64).u16(16).u64(size).u64(size);
  f.u16(kPadding).u16(static_cast<uint64_t>(gap - kPaddingField));
  f.add(std::string_view(std::string(static_cast<size_t>(gap - kPaddingField), 'Z')));
  return f.take();
}

std::string ArchiveWriter::directory(const std::vector<uint32_t>& crcs) const {
  Fields f;
  std::string text;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool wide = is_wide(entry), far = entry.header >= zip64_from_;
    const auto size = static_cast<uint64_t>(entry.size);
    const auto header = static_cast<uint64_t>(entry.header);
    const uint64_t extra = (wide ? 16 : 0) + (far ? 8 : 0);
    const uint16_t version = wide || far ? kVersion64 : kVersion;
    f.add(std::string_view("PK\1\2")).u16(version).u16(version).u16(kUtf8).u16(0);
    f.u16(kMidnight).u16(kFirstDay).u32(crcs[i]).u32(wide ? UINT32_MAX : size);
    f.u32(wide ? UINT32_MAX : size).u16(entry.name.size()).u16(extra == 0 ? 0 : extra + 4);
    f.u16(0).u16(0).u16(0).u32(0).u32(far ? UINT32_MAX : header);
    f.add(std::string_view(entry.name));
    if (extra != 0) f.u16(kZip64).u16(extra);
    if (wide) f.u64(size).u64(size);
    if (far) f.u64(header);
  }
  text = f.take();
  const auto start = static_cast<uint64_t>(end_), length = static_cast<uint64_t>(text.size());
  const uint64_t count = entries_.size();
  const bool wide = end_ >= zip64_from_ || count >= UINT16_MAX;
  if (wide) {
    f.add(std::string_view("PK\6\6")).u64(44).u16(kVersion64).u16(kVersion64).u32(0).u32(0);
    f.u64(count).u64(count).u64(length).u64(start);
    f.add(std::string_view("PK\6\7")).u32(0).u64(start + length).u32(1);
  }
  f.add(std::string_view("PK\5\6")).u16(0).u16(0).u16(wide ? UINT16_MAX : count);
  f.u16(wide ? UINT16_MAX : count).u32(wide ? UINT32_MAX : length);
  f.u32(wide ? UINT32_MAX : start).u16(0);
  return text + f.take();
}

int64_t ArchiveWriter::size() const {
  return end_ + static_cast<int64_t>(directory(std::vector<uint32_t>(entries_.size())).size());
}

/// Two halves of 20 digits: a hash (FNV-1a) of the names, and one of the contents' checksums.
std::string ArchiveWriter::digest(const std::vector<Entry>& entries,
                                  const std::vector<uint32_t>& crcs) {
  constexpr uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  uint64_t names = kBasis, contents = kBasis;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (std::holds_alternative<Digest>(entries[i].contents)) continue;
    for (const char c : entries[i].name + '\0')
      names = (names ^ static_cast<unsigned char>(c)) * kPrime;
    for (int byte = 0; byte < 4; ++byte)
      contents = (contents ^ (crcs[i] >> (8 * byte) & 0xff)) * kPrime;
  }
  return fmt::format("{:020}{:020}", names, contents);
}

void ArchiveWriter::write_to(const Sink& sink) const {
  std::vector<uint32_t> crcs(entries_.size());
  std::vector<size_t> tensors;
  const auto write_text = [&](size_t i, std::string_view text) {
    crcs[i] = crc_of(0, bytes_of(text));
    sink(entries_[i].data, bytes_of(text));
  };
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (const auto* text = std::get_if<std::string>(&entries_[i].contents)) write_text(i, *text);
    else if (std::holds_alternative<Lazy>(entries_[i].contents)) tensors.push_back(i);
  }
  // The largest first, so that no core is left with one at the end.
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&](size_t a, size_t b) { return entries_[a].size > entries_[b].size; });
  parallel_for(static_cast<int64_t>(tensors.size()), [&](int64_t i) {
    const size_t at = tensors[static_cast<size_t>(i)];
    crcs[at] = write_tensor(*std::get<Lazy>(entries_[at].contents), entries_[at].data, sink);
  });
  for (size_t i = 0; i < entries_.size(); ++i)
    if (std::holds_alternative<Digest>(entries_[i].contents)) write_text(i, digest(entries_, crcs));
  for (size_t i = 0; i < entries_.size(); ++i)
    sink(entries_[i].header, bytes_of(local_header(entries_[i], crcs[i])));
  sink(end_, bytes_of(directory(crcs)));
}

void ArchiveWriter::write(const std::filesystem::path& path) const {
  write_file(path, [&](OutputFile& file) {
    file.reserve(size());
    Progress progress("weights", size());
    write_to([&](int64_t offset, ByteSpan bytes) {
      file.write_at(offset, bytes);
      progress.add(static_cast<int64_t>(bytes.size()));
    });
  });
}

std::string ArchiveWriter::bytes() const {
  std::string text(static_cast<size_t>(size()), '\0');
  write_to([&](int64_t offset, ByteSpan bytes) {
    std::memcpy(text.data() + offset, bytes.data(), bytes.size());
  });
  return text;
}

}  // namespace slipway::dynamo

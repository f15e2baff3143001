// Reads the directory of a stored zip archive.
#include "backends/dynamo/archive.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/output.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

constexpr uint32_t kEndMagic = 0x06054b50, kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50,
                   kCentralMagic = 0x02014b50, kLocalMagic = 0x04034b50;
constexpr size_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kCentralSize = 46,
                 kLocalSize = 30, kMaxComment = 65535;
constexpr uint64_t kMaxEntries = 1 << 20;
constexpr uint16_t kZip64Field = 1;

/// The bytes of a file as little-endian numbers; every access is checked.
class Bytes {
 public:
  Bytes(ByteSpan bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  size_t size() const { return bytes_.size(); }

  template <class T>
  T number(uint64_t at) const {
    check(at, sizeof(T));
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<T>(static_cast<T>(bytes_[at + i]) << (8 * i));
    return value;
  }

  std::string_view text(uint64_t at, uint64_t size) const {
    check(at, size);
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }

  void check(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail(fmt::format("bytes {} to {} are outside the file's {}; it may be cut short", at,
                       static_cast<__uint128_t>(at) + size, bytes_.size()));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(kInvalid, fmt::format("[pt2] {}: {}", where_, message));
  }

 private:
  ByteSpan bytes_;
  std::string where_;
};

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

Directory find_directory(const Bytes& file) {
  if (file.size() < kEndSize) file.fail("it is too short for an archive");
  const uint64_t first =
      file.size() > kEndSize + kMaxComment ? file.size() - kEndSize - kMaxComment : 0;
  std::optional<uint64_t> end;
  for (uint64_t at = file.size() - kEndSize + 1; at-- > first && !end;)
    if (file.number<uint32_t>(at) == kEndMagic &&
        at + kEndSize + file.number<uint16_t>(at + 20) == file.size())
      end = at;
  if (!end) file.fail("it does not end like a zip archive; a .pt2 file is one, or it was cut");
  Directory directory{file.number<uint32_t>(*end + 16), file.number<uint32_t>(*end + 12),
                      file.number<uint16_t>(*end + 10)};
  const bool large = directory.offset == UINT32_MAX || directory.size == UINT32_MAX ||
                     directory.count == UINT16_MAX;
  if (large && *end >= kLocator64Size &&
      file.number<uint32_t>(*end - kLocator64Size) == kLocator64Magic) {
    const auto at = file.number<uint64_t>(*end - kLocator64Size + 8);
    file.check(at, kEnd64Size);
    if (file.number<uint32_t>(at) != kEnd64Magic)
      file.fail("its zip64 end record is not where the file says");
    directory = {file.number<uint64_t>(at + 48), file.number<uint64_t>(at + 40),
                 file.number<uint64_t>(at + 32)};
  }
  file.check(directory.offset, directory.size);
  if (directory.count > kMaxEntries || directory.count * kCentralSize > directory.size)
    file.fail(fmt::format("its directory of {} bytes cannot hold {} entries", directory.size,
                          directory.count));
  return directory;
}

struct Record {
  std::string name;
  uint64_t size = 0, header = 0, begin = 0;
  uint32_t crc32 = 0;
};

/// Sizes beyond 32 bits are in an extra field, in the order of the fields that they replace.
void read_zip64(const Bytes& file, uint64_t at, uint64_t size, uint64_t& raw, uint64_t& stored,
                uint64_t& header, const std::string& name) {
  for (uint64_t i = 0; i + 4 <= size;) {
    const auto id = file.number<uint16_t>(at + i), length = file.number<uint16_t>(at + i + 2);
    if (i + 4 + length > size) break;
    if (id == kZip64Field) {
      uint64_t next = i + 4;
      for (uint64_t* field : {&raw, &stored, &header}) {
        if (*field != UINT32_MAX) continue;
        if (next + 8 > i + 4 + length) file.fail(quote(name) + " has a short zip64 field");
        *field = file.number<uint64_t>(at + next);
        next += 8;
      }
      return;
    }
    i += 4 + length;
  }
}

Record read_record(const Bytes& file, uint64_t& at) {
  file.check(at, kCentralSize);
  if (file.number<uint32_t>(at) != kCentralMagic)
    file.fail(fmt::format("its directory is damaged at byte {}", at));
  const auto flags = file.number<uint16_t>(at + 8), method = file.number<uint16_t>(at + 10);
  const auto crc32 = file.number<uint32_t>(at + 16);
  uint64_t stored = file.number<uint32_t>(at + 20), raw = file.number<uint32_t>(at + 24),
           header = file.number<uint32_t>(at + 42);
  const uint64_t name_size = file.number<uint16_t>(at + 28),
                 extra_size = file.number<uint16_t>(at + 30),
                 comment_size = file.number<uint16_t>(at + 32);
  Record record;
  record.name = file.text(at + kCentralSize, name_size);
  read_zip64(file, at + kCentralSize + name_size, extra_size, raw, stored, header, record.name);
  at += kCentralSize + name_size + extra_size + comment_size;
  if ((flags & 1) != 0)
    throw Error(kUnsupported, fmt::format("[pt2] entry {} is encrypted", quote(record.name)));
  if (method != 0)
    throw Error(kUnsupported,
                fmt::format("[pt2] entry {} is compressed (method {}); torch.export.save stores "
                            "entries as they are: unpack the archive and pack it with `zip -0 -r`",
                            quote(record.name), method));
  if (raw != stored)
    file.fail(
        fmt::format("entry {} is stored but has sizes {} and {}", quote(record.name), raw, stored));
  record.size = raw;
  record.header = header;
  record.crc32 = crc32;
  return record;
}

/// Where the contents begin, from the entry's local header.
uint64_t contents_begin(const Bytes& file, const Record& record) {
  file.check(record.header, kLocalSize);
  if (file.number<uint32_t>(record.header) != kLocalMagic)
    file.fail(fmt::format("entry {} has no header at byte {}", quote(record.name), record.header));
  const uint64_t name_size = file.number<uint16_t>(record.header + 26),
                 extra_size = file.number<uint16_t>(record.header + 28);
  if (file.text(record.header + kLocalSize, name_size) != record.name)
    file.fail(fmt::format("entry {} has another name in its header", quote(record.name)));
  if (file.number<uint16_t>(record.header + 8) != 0)
    file.fail(fmt::format("entry {} is stored, but not by its header", quote(record.name)));
  const uint64_t begin = record.header + kLocalSize + name_size + extra_size;
  file.check(begin, record.size);
  return begin;
}

/// A relative path without empty, "." and ".." parts.
bool is_plain(std::string_view name) {
  if (name.find('\\') != name.npos || name.find('\0') != name.npos) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::shared_ptr<const Archive> Archive::open(const std::filesystem::path& path) {
  std::shared_ptr<Archive> archive(new Archive);
  archive->file_ = MappedFile::open(path);
  const Bytes file(archive->file_->bytes(), display(path));
  const Directory directory = find_directory(file);
  std::vector<Record> records;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    Record record = read_record(file, at);
    if (at > directory.offset + directory.size) file.fail("its directory is longer than it says");
    if (record.name.ends_with('/') && record.size == 0) continue;  // a folder
    const size_t slash = record.name.find('/');
    if (!is_plain(record.name) || slash == record.name.npos)
      file.fail(fmt::format("entry {} is not below one folder of the archive", quote(record.name)));
    const std::string root = record.name.substr(0, slash);
    if (archive->entries_.empty()) archive->root_ = root;
    if (root != archive->root_)
      file.fail(
          fmt::format("it has two root folders, {} and {}", quote(archive->root_), quote(root)));
    record.begin = contents_begin(file, record);
    const Entry entry{static_cast<int64_t>(record.begin), static_cast<int64_t>(record.size),
                      record.crc32};
    if (!archive->entries_.emplace(record.name.substr(slash + 1), entry).second)
      file.fail(fmt::format("entry {} appears twice", quote(record.name)));
    records.push_back(std::move(record));
  }
  if (records.empty()) file.fail("it has no entries");
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.header < b.header; });
  for (size_t i = 0; i < records.size(); ++i) {
    const uint64_t next = i + 1 < records.size() ? records[i + 1].header : directory.offset;
    if (records[i].begin + records[i].size > next)
      file.fail(fmt::format("entry {} overlaps what follows it", quote(records[i].name)));
  }
  return archive;
}

const Archive::Entry* Archive::find(std::string_view name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

const Archive::Entry& Archive::at(std::string_view name) const {
  if (const Entry* entry = find(name)) return *entry;
  throw Error(kInvalid, fmt::format("[pt2] {}: there is no entry {}", display(file_->path()),
                                    quote(root_ + "/" + std::string(name), 120)));
}

ByteSpan Archive::bytes(const Entry& entry) const {
  return file_->bytes().subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size));
}

void Archive::verify(const Entry& entry) const {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  static_cast<void>(entry);  // a fuzzer cannot guess checksums
#else
  const ByteSpan span = bytes(entry);
  const uint32_t got = libdeflate_crc32(0, span.data(), span.size());
  if (got == entry.crc32) return;
  std::string name = "?";
  for (const auto& [key, item] : entries_)
    if (item.offset == entry.offset && item.size == entry.size) name = key;
  throw Error(kInvalid, fmt::format("[pt2] {}: entry {} is damaged: its checksum is {:08x}, the "
                                    "file says {:08x}",
                                    display(file_->path()), quote(name, 120), got, entry.crc32));
#endif
}

std::string_view Archive::text(std::string_view name) const {
  const Entry& entry = at(name);
  verify(entry);
  const ByteSpan span = bytes(entry);
  return {reinterpret_cast<const char*>(span.data()), span.size()};
}

}  // namespace slipway::dynamo

// Writes the archive of a .pt2 file: a stored zip whose contents are aligned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lazy.h"

namespace slipway::dynamo {

/// An archive being put together. Nothing is written before write(), so that the size is known and
/// tensors are computed piece by piece straight into the file.
///
/// Entries lie below one root folder and are never compressed. Contents begin at multiples of 64
/// bytes (an extra field fills the gap, as in torch's writer), so that tensors can be mapped. Times
/// are fixed: equal entries give equal bytes.
class ArchiveWriter {
 public:
  static constexpr int64_t kAlignment = 64;

  /// `zip64_from`: sizes and offsets from here on take the 64-bit fields of zip64; other values
  /// than the default are for tests.
  explicit ArchiveWriter(std::string root,
                         int64_t zip64_from = std::numeric_limits<uint32_t>::max());

  /// Names are those below the root; asserts that none comes twice. At most 4 GiB of text.
  void add(const std::string& name, std::string contents);
  /// The elements of a tensor in row-major order.
  void add(const std::string& name, Lazy tensor);
  /// An entry of 40 digits that are made of the names and contents of all other entries.
  void add_digest(const std::string& name);

  int64_t num_entries() const { return static_cast<int64_t>(entries_.size()); }
  /// The size of the file, in bytes.
  int64_t size() const;

  /// Writes the file under a temporary name and renames it. Tensors are computed by all cores, a
  /// few MiB at a time each. Throws Error{kEnvironment} where the system refuses.
  void write(const std::filesystem::path& path) const;
  /// The same bytes in memory, for an archive inside an archive.
  std::string bytes() const;

 private:
  using Sink = std::function<void(int64_t offset, ByteSpan bytes)>;
  struct Digest {};
  struct Entry {
    std::string name;  ///< with the root
    std::variant<std::string, Lazy, Digest> contents;
    int64_t header = 0;  ///< where its local header begins
    int64_t data = 0;    ///< where its contents begin
    int64_t size = 0;
  };

  void append(const std::string& name, std::variant<std::string, Lazy, Digest> contents,
              int64_t size);
  void write_to(const Sink& sink) const;
  std::string local_header(const Entry& entry, uint32_t crc) const;
  std::string directory(const std::vector<uint32_t>& crcs) const;
  bool is_wide(const Entry& entry) const;
  static std::string digest(const std::vector<Entry>& entries, const std::vector<uint32_t>& crcs);

  std::string root_;
  int64_t zip64_from_;
  int64_t end_ = 0;  ///< of the last entry
  std::vector<Entry> entries_;
};

}  // namespace slipway::dynamo

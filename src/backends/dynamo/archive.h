// The archive of a .pt2 file: a zip whose entries are stored, so that weights can be mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"

namespace slipway::dynamo {

/// A mapped .pt2 file. Entry names are those below the archive's one root folder:
/// "models/model.json", "data/weights/weight_0".
///
/// The format is PKWARE's APPNOTE 6.3 with zip64, as torch.export.save writes it. Nothing is
/// unpacked: an entry is a range of the file.
class Archive {
 public:
  struct Entry {
    int64_t offset = 0;  ///< of the first byte of the contents in the file
    int64_t size = 0;    ///< in bytes
    uint32_t crc32 = 0;  ///< of the contents, as the file says
  };

  /// Maps a file and checks its directory: entries lie inside the file, do not overlap, have local
  /// headers that agree with the directory, names that stay below one root folder, none twice.
  /// Throws Error{kInvalid} naming the file and the entry at fault, Error{kUnsupported} for
  /// compressed and encrypted entries.
  static std::shared_ptr<const Archive> open(const std::filesystem::path& path);

  const std::string& root() const { return root_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  /// Null when there is no entry of that name.
  const Entry* find(std::string_view name) const;
  /// Throws Error{kInvalid} naming the file when there is no such entry.
  const Entry& at(std::string_view name) const;
  /// Contents, valid while the archive lives.
  ByteSpan bytes(const Entry& entry) const;
  /// The contents as text. Throws Error{kInvalid} where their checksum is another than the file
  /// says.
  std::string_view text(std::string_view name) const;
  /// Reads the contents and throws Error{kInvalid} naming the entry where the checksum differs.
  void verify(const Entry& entry) const;

  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  Archive() = default;

  std::shared_ptr<const MappedFile> file_;
  std::string root_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace slipway::dynamo

// Files and directories that appear whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/lazy.h"

namespace slipway {

/// A directory written aside and put in place in one step. Until commit() the final path is
/// untouched: a failure or a kill at any moment leaves the old contents or none.
///
/// Files of an older directory at the final path that the new one does not write itself are kept
/// (an export may sit beside a checkpoint or a README), except those named in `replaced`, which
/// belonged to the older export.
class StagedDirectory {
 public:
  /// Makes a hidden folder beside `final_path` (symbolic links in it are resolved first; parents
  /// are created). Removes staging folders that killed processes left there. Throws
  /// Error{kEnvironment} naming the path and the system's reason, or Error{kInvalid} when the final
  /// path is a file.
  explicit StagedDirectory(const std::filesystem::path& final_path);
  /// Removes what was written unless commit() succeeded.
  ~StagedDirectory();
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  /// The folder to write into.
  const std::filesystem::path& path() const { return staging_; }

  /// Puts the folder in place; every file in it must be closed. `replaced` are names inside the old
  /// folder ("model.onnx", "sub/x") that must not survive. Kept files are hard links, or copies
  /// where the file system has none. The swap is one step where it can exchange two names;
  /// elsewhere the final path is absent for a moment and a kill then leaves the old folder under a
  /// hidden name, which the next StagedDirectory for the same path puts back.
  void commit(std::span<const std::string> replaced = {});

 private:
  std::filesystem::path final_, staging_;
  int lock_ = -1;  ///< held on the staging folder: tells others that it is alive
  bool committed_ = false;
};

/// A file opened for writing at any offset. Every failed call throws Error{kEnvironment} with the
/// path and the system's reason (disk full, read-only, size limit).
class OutputFile {
 public:
  /// Creates or truncates `path`.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Safe to call from several threads for ranges that do not overlap.
  void write_at(int64_t offset, ByteSpan bytes);
  /// Appends after the last append().
  void append(ByteSpan bytes);
  void append(std::string_view text);
  int64_t appended() const { return appended_; }
  /// Reserves space so that a full disk is known before the work, where the file system can.
  void reserve(int64_t bytes);
  /// Closes and reports errors that only closing shows. The destructor ignores them.
  void close();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t appended_ = 0;
};

/// Writes a whole file through a temporary name in the same directory and a rename.
void write_file(const std::filesystem::path& path, std::string_view contents);
/// The same for contents that `fill` writes piece by piece.
void write_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& fill);

/// Throws what write_file() would for a folder, a device or a place where no file can be made, by
/// making one and removing it: for asking before long work.
void check_writable(const std::filesystem::path& path);

/// A path for a person: UTF-8, with control characters and broken bytes as \\xNN.
std::string display(const std::filesystem::path& path);

}  // namespace slipway

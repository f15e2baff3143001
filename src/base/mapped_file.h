// Read-only memory maps of whole files.
#pragma once

#include <filesystem>
#include <memory>

#include "base/lazy.h"

namespace slipway {

/// A file mapped read-only, its size taken once at opening. Pages are clean file memory: they do
/// not count as anonymous memory and the kernel drops them under pressure.
class MappedFile {
 public:
  /// Throws Error{kInvalid} when the path does not exist or is not a regular file (links are
  /// followed), Error{kEnvironment} when the system refuses, each naming the path and the reason.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  ByteSpan bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace slipway

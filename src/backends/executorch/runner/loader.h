// How the runtime gets at the bytes of a .pte file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <tuple>

#include "backends/executorch/runner/et.h"

namespace slipway::executorch_runner {

/// Which file it is, and which contents of it: device, inode, bytes, time of the last change in
/// nanoseconds.
using FileIdentity = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;

/// Reads what the runtime keeps into memory: somebody who writes to a mapped file takes the process
/// along. Large data that a delegate packs are mapped, since they are let go at once; that begins
/// with map_large(), after the program and its constants were loaded.
class Loader final : public et::DataLoader {
 public:
  /// Throws Error{kInvalid} for a file that cannot be opened.
  explicit Loader(const std::filesystem::path& path);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void map_large() { maps_ = true; }

  et::Result<et::FreeableBuffer> load(size_t offset, size_t size,
                                      const SegmentInfo& info) const override;
  et::Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                      void* buffer) const override;
  et::Result<size_t> size() const override { return size_; }
  const FileIdentity& identity() const { return identity_; }

 private:
  bool inside(size_t offset, size_t size) const {
    return offset <= size_ && size <= size_ - offset;
  }

  int fd_ = -1;
  FileIdentity identity_;
  size_t size_ = 0;
  bool maps_ = false;
};

}  // namespace slipway::executorch_runner

// How the runtime gets at the bytes of a .pte file.
#include "backends/executorch/runner/loader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "slipway/error.h"

namespace slipway::executorch_runner {
namespace {

constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kAlignment = 64;  // what kernels load at once
constexpr size_t kHugePage = size_t{2} << 20;

void unmap(void*, void* data, size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto* begin = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(data) / page * page);
  ::munmap(begin, static_cast<size_t>(static_cast<char*>(data) - begin) + size);
}

void release(void*, void* data, size_t) { std::free(data); }

}  // namespace

Loader::Loader(const std::filesystem::path& path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
    const int reason = errno;
    if (fd_ >= 0) ::close(fd_);
    throw Error(kInvalid, fmt::format("[executorch] cannot open {}: {}", path.string(),
                                      std::strerror(reason)));
  }
  size_ = static_cast<size_t>(status.st_size);
  constexpr int64_t kNanoseconds = 1'000'000'000;
  identity_ = {status.st_dev, status.st_ino, status.st_size,
               status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

Loader::~Loader() { ::close(fd_); }

et::Result<et::FreeableBuffer> Loader::load(size_t offset, size_t size,
                                            const SegmentInfo& info) const {
  if (!inside(offset, size)) return et::Error::InvalidArgument;
  if (size == 0) return et::FreeableBuffer(nullptr, 0, nullptr);
  if (maps_ && size >= kLarge) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t begin = offset / page * page;
    void* start = ::mmap(nullptr, offset - begin + size, PROT_READ, MAP_PRIVATE, fd_,
                         static_cast<off_t>(begin));
    if (start == MAP_FAILED) return et::Error::AccessFailed;
    ::madvise(start, offset - begin + size, MADV_WILLNEED);
    return et::FreeableBuffer(static_cast<char*>(start) + (offset - begin), size, unmap);
  }
  const size_t alignment = size >= kHugePage ? kHugePage : kAlignment;
  void* data = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (data == nullptr) return et::Error::MemoryAllocationFailed;
  // Rows of a table of embeddings are far apart: fewer pages, fewer misses.
  if (size >= kHugePage) ::madvise(data, size, MADV_HUGEPAGE);
  if (const et::Error error = load_into(offset, size, info, data); error != et::Error::Ok) {
    std::free(data);
    return error;
  }
  return et::FreeableBuffer(data, size, release);
}

et::Error Loader::load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const {
  if (!inside(offset, size)) return et::Error::InvalidArgument;
  auto* to = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::pread(fd_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return et::Error::AccessFailed;  // an error, or a file that became shorter
    to += got, offset += static_cast<size_t>(got), size -= static_cast<size_t>(got);
  }
  return et::Error::Ok;
}

}  // namespace slipway::executorch_runner

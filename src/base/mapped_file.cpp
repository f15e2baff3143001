// Read-only memory maps of whole files.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace slipway {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  const bool callers = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP;
  throw Error(callers ? kInvalid : kEnvironment,
              fmt::format("[file] cannot read {}: {}", path.string(), std::strerror(error)));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Opening a pipe would wait for whoever writes to it.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail(path, errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail(path, errno);
  if (!S_ISREG(info.st_mode))
    throw Error(kInvalid, fmt::format("[file] {} is not a regular file", path.string()));
  std::shared_ptr<MappedFile> map(new MappedFile());
  map->path_ = path;
  map->size_ = static_cast<size_t>(info.st_size);
  if (map->size_ > 0) {
    void* p = ::mmap(nullptr, map->size_, PROT_READ, MAP_SHARED, file.fd, 0);
    if (p == MAP_FAILED) fail(path, errno);
    map->data_ = static_cast<const std::byte*>(p);
  }
  return map;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace slipway

// Files written at any offset or whole, with every error of the system reported.
#include "base/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/output_paths.h"

namespace slipway {
namespace {

/// Checks the size limit of the process first: writing past it would raise SIGXFSZ, which kills.
void check_size_limit(const std::filesystem::path& path, int64_t end) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<uint64_t>(end) > limit.rlim_cur) fail_output("write", path, EFBIG);
}

/// The length of the UTF-8 sequence at the front of `text`; 0 when it is broken.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                    ? 1
                        : lead >= 0xc2 && lead <= 0xdf ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_output("create", path_, errno);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::write_at(int64_t offset, ByteSpan bytes) {
  SLIPWAY_ASSERT(fd_ >= 0 && offset >= 0);
  int64_t end = 0;
  if (__builtin_add_overflow(offset, static_cast<int64_t>(bytes.size()), &end))
    fail_output("write", path_, EFBIG);
  check_size_limit(path_, end);
  while (!bytes.empty()) {
    const size_t piece = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t done = ::pwrite(fd_, bytes.data(), piece, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_output("write", path_, done < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += done;
  }
}

void OutputFile::append(ByteSpan bytes) {
  write_at(appended_, bytes);
  appended_ += static_cast<int64_t>(bytes.size());
}

void OutputFile::append(std::string_view text) {
  append(std::as_bytes(std::span<const char>(text)));
}

void OutputFile::reserve(int64_t bytes) {
  SLIPWAY_ASSERT(fd_ >= 0 && bytes >= 0);
  if (bytes == 0) return;
  check_size_limit(path_, bytes);
  int result = 0;
  do {
    result = ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS)
    fail_output(fmt::format("reserve {} bytes for", bytes), path_, errno);
}

void OutputFile::close() {
  SLIPWAY_ASSERT(fd_ >= 0);
  const int result = ::close(std::exchange(fd_, -1));
  if (result != 0 && errno != EINTR) fail_output("close", path_, errno);
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  write_file(path, [&](OutputFile& file) { file.append(contents); });
}

namespace {

/// Where a file goes in the end. Throws for what no file can replace.
std::filesystem::path file_target(const std::filesystem::path& path) {
  const std::filesystem::path target = resolve_output(path);
  std::error_code error;
  if (std::filesystem::is_directory(target, error))
    throw Error(kInvalid, fmt::format("[output] {} is a folder, need a file name", display(path)));
  // Renaming over a device or a pipe would replace it on the system.
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error))
    throw Error(kInvalid,
                fmt::format("[output] {} is a device or a pipe, need a file name", display(path)));
  return target;
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  const std::filesystem::path staging = staging_path(file_target(path));
  OutputFile(staging).close();
  std::error_code ignored;
  std::filesystem::remove(staging, ignored);
}

void write_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& fill) {
  const std::filesystem::path target = file_target(path);
  std::error_code error;
  clean_stale(target);
  const std::filesystem::path staging = staging_path(target);
  try {
    OutputFile file(staging);
    fill(file);
    file.close();
    if (::rename(staging.c_str(), target.c_str()) != 0) fail_output("write", target, errno);
  } catch (...) {
    std::filesystem::remove(staging, error);
    throw;
  }
}

std::string display(const std::filesystem::path& path) {
  const std::string bytes = path.string();
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = utf8_length(std::string_view(bytes).substr(i));
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
      ++i;
    } else {
      text += bytes.substr(i, length);
      i += length;
    }
  }
  return text;
}

}  // namespace slipway

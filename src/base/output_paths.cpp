// Names of unfinished outputs and the removal of those that killed processes left.
#include "base/output_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/output.h"
#include "slipway/error.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = ".old";

/// ".<name>.slipway-"; long names are cut so that the whole fits the 255 bytes of a file name.
std::string staging_prefix(const fs::path& final_path) {
  return "." + final_path.filename().string().substr(0, 200) + ".slipway-";
}

/// The process of a "<prefix><pid>-<n>" or "<prefix><pid>-<n>.old" name.
std::optional<pid_t> staging_process(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() > kAside.size() && name.substr(name.size() - kAside.size()) == kAside)
    name.remove_suffix(kAside.size());
  const auto number = [&](auto& value) {
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end == name.data() || value < 0) return false;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    return true;
  };
  pid_t pid = 0;
  int64_t count = 0;
  if (!number(pid) || pid == 0 || name.empty() || name[0] != '-') return std::nullopt;
  name.remove_prefix(1);
  if (!number(count) || !name.empty()) return std::nullopt;
  return pid;
}

/// Whether nobody works there: its process is gone (or was another one with our number), and no
/// lock is held, which also covers processes that are not visible here.
bool is_stale(const fs::path& path, pid_t pid) {
  if (pid != ::getpid() && (::kill(pid, 0) == 0 || errno != ESRCH)) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return !held;
}

}  // namespace

void fail_output(std::string_view what, const fs::path& path, int error) {
  throw Error(kEnvironment,
              fmt::format("[output] cannot {} {}: {}", what, display(path), std::strerror(error)));
}

fs::path resolve_output(const fs::path& path) {
  std::error_code error;
  if (path.empty()) throw Error(kInvalid, "[output] got an empty path, need a file or folder name");
  fs::path p = fs::absolute(path, error);
  if (error) fail_output("resolve", path, error.value());
  while (p.has_relative_path() && (p.filename().empty() || p.filename() == "."))
    p = p.parent_path();
  for (int links = 0; fs::is_symlink(fs::symlink_status(p, error)); ++links) {
    if (links == 40) fail_output("resolve", path, ELOOP);
    const fs::path target = fs::read_symlink(p, error);
    if (error) fail_output("resolve", path, error.value());
    p = p.parent_path() / target;
  }
  if (fs::exists(p, error)) {
    p = fs::canonical(p, error);
  } else {
    fs::create_directories(p.parent_path(), error);
    if (error) fail_output("make the folder", p.parent_path(), error.value());
    p = fs::canonical(p.parent_path(), error) / p.filename();
  }
  if (error) fail_output("resolve", path, error.value());
  return p;
}

fs::path staging_path(const fs::path& final_path) {
  static std::atomic<int64_t> count{0};
  return final_path.parent_path() /
         fmt::format("{}{}-{}", staging_prefix(final_path), ::getpid(), count.fetch_add(1));
}

fs::path replace_in_two_renames(const fs::path& staging, const fs::path& final_path) {
  fs::path aside = staging;
  aside += kAside;
  if (::rename(final_path.c_str(), aside.c_str()) != 0) fail_output("replace", final_path, errno);
  if (::rename(staging.c_str(), final_path.c_str()) == 0) return aside;
  const int error = errno;
  if (::rename(aside.c_str(), final_path.c_str()) != 0)
    throw Error(kEnvironment,
                fmt::format("[output] cannot put {} back: {}; its contents are in {}",
                            display(final_path), std::strerror(errno), display(aside)));
  fail_output("replace", final_path, error);
}

void clean_stale(const fs::path& final_path) {
  const std::string prefix = staging_prefix(final_path);
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(final_path.parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    const auto pid = staging_process(it->path().filename().string(), prefix);
    if (pid && is_stale(it->path(), *pid)) stale.push_back(it->path());
  }
  for (const fs::path& path : stale) {
    if (path.extension() == kAside && !fs::exists(fs::symlink_status(final_path, error))) {
      fs::rename(path, final_path, error);
      if (!error)
        log::warning("put back " + display(final_path) + ", left aside by a killed export");
    }
  }
  for (const fs::path& path : stale) {
    fs::remove_all(path, error);
    if (error) log::warning(fmt::format("cannot remove {}: {}", display(path), error.message()));
  }
}

int lock_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);  // a file system without locks: the pid has to do
  return fd;
}

}  // namespace slipway

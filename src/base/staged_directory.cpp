// A directory written aside, completed with what it keeps of the old one, and swapped in.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "base/log.h"
#include "base/output.h"
#include "base/output_paths.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// Between making a folder and locking it, and between two renames, this process must not clean up.
std::mutex& swap_mutex() {
  static std::mutex mutex;
  return mutex;
}

[[noreturn]] void refuse_mount_point(const fs::path& final_path) {
  throw Error(kEnvironment,
              fmt::format("[output] cannot replace {}: it is a mount point; export to "
                          "a folder inside it",
                          display(final_path)));
}

/// The old folder's mode and, where allowed, owner.
void copy_owner(const fs::path& from, const fs::path& to) {
  struct stat info {};
  if (::stat(from.c_str(), &info) != 0) fail_output("look at", from, errno);
  if (::chown(to.c_str(), info.st_uid, info.st_gid) != 0) {
    // Only root may give folders away; the exporting user then owns the new one.
  }
  if (::chmod(to.c_str(), info.st_mode & 07777) != 0) fail_output("change the mode of", to, errno);
}

void keep_file(const fs::path& from, const fs::path& to) {
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) == 0) return;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(from, error);
  if (fs::is_symlink(status)) {
    fs::copy_symlink(from, to, error);
  } else if (fs::is_regular_file(status)) {
    fs::copy_file(from, to, error);
  } else {
    error = std::error_code(EPERM, std::generic_category());  // a device or socket that cannot link
  }
  if (error) fail_output("keep", from, error.value());
}

/// Brings everything below `old_folder` that `fresh` does not have into it, except `replaced`.
void keep_tree(const fs::path& old_folder, const fs::path& fresh, const fs::path& below,
               std::span<const std::string> replaced) {
  std::error_code error;
  fs::directory_iterator it(old_folder / below, error), end;
  for (; !error && it != end; it.increment(error)) {
    const fs::path name = below / it->path().filename();
    if (std::find(replaced.begin(), replaced.end(), name.string()) != replaced.end()) continue;
    const fs::path from = it->path(), to = fresh / name;
    std::error_code ignored;
    const bool folder = fs::is_directory(fs::symlink_status(from, ignored));
    const fs::file_status present = fs::symlink_status(to, ignored);
    if (fs::exists(present)) {
      if (folder && fs::is_directory(present)) keep_tree(old_folder, fresh, name, replaced);
      continue;
    }
    if (!folder) {
      keep_file(from, to);
      continue;
    }
    if (::mkdir(to.c_str(), 0700) != 0) fail_output("make the folder", to, errno);
    keep_tree(old_folder, fresh, name, replaced);
    copy_owner(from, to);
  }
  if (error) fail_output("read the folder", old_folder / below, error.value());
}

/// Puts `staging` at `final_path` and what was there at the path that is returned.
fs::path replace_folder(const fs::path& staging, const fs::path& final_path) {
  if (::renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, final_path.c_str(), RENAME_EXCHANGE) == 0)
    return staging;
  if (errno == EBUSY || errno == EXDEV) refuse_mount_point(final_path);
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
    fail_output("replace", final_path, errno);
  return replace_in_two_renames(staging, final_path);  // some network and user-space file systems
}

}  // namespace

StagedDirectory::StagedDirectory(const fs::path& final_path) : final_(resolve_output(final_path)) {
  const std::lock_guard lock(swap_mutex());
  clean_stale(final_);
  std::error_code error;
  const fs::file_status status = fs::status(final_, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw Error(kInvalid, fmt::format("[output] {} is a file, need a folder; choose another path",
                                      display(final_path)));
  const fs::path here = fs::current_path(error);
  const fs::path below = here.lexically_relative(final_);
  if (fs::exists(status) && !error && !below.empty() && *below.begin() != "..")
    throw Error(kUsage,
                fmt::format("[output] {} is or holds the folder that this process works in, "
                            "which is replaced as a whole; name a folder inside it",
                            display(final_path)));
  struct stat own {
  }, parent{};
  if (::stat(final_.c_str(), &own) == 0 && ::stat(final_.parent_path().c_str(), &parent) == 0 &&
      (own.st_dev != parent.st_dev || final_ == final_.parent_path()))
    refuse_mount_point(final_);
  do {
    staging_ = staging_path(final_);
    if (::mkdir(staging_.c_str(), 0777) == 0) break;
    if (errno != EEXIST) fail_output("make a folder in", final_.parent_path(), errno);
  } while (true);
  lock_ = lock_folder(staging_);
}

StagedDirectory::~StagedDirectory() {
  if (!committed_) {
    std::error_code error;
    fs::remove_all(staging_, error);
    if (error)
      log::warning(fmt::format("cannot remove {}: {}", display(staging_), error.message()));
  }
  if (lock_ >= 0) ::close(lock_);
}

void StagedDirectory::commit(std::span<const std::string> replaced) {
  SLIPWAY_ASSERT(!committed_);
  const std::lock_guard lock(swap_mutex());
  std::error_code error;
  if (!fs::exists(fs::symlink_status(final_, error))) {
    if (::rename(staging_.c_str(), final_.c_str()) == 0) {
      committed_ = true;
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) fail_output("put in place", final_, errno);
  }
  if (!fs::is_directory(fs::symlink_status(final_, error)))
    throw Error(kInvalid, fmt::format("[output] {} became a file during the export; remove it",
                                      display(final_)));
  keep_tree(final_, staging_, "", replaced);
  copy_owner(final_, staging_);
  const fs::path old = replace_folder(staging_, final_);
  committed_ = true;
  fs::remove_all(old, error);
  if (error)
    log::warning(
        fmt::format("the export is complete, but the older one's files in {} cannot be "
                    "removed: {}",
                    display(old), error.message()));
}

}  // namespace slipway

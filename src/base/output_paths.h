// How outputs are named while they are not finished, and what is said when the system refuses.
#pragma once

#include <filesystem>
#include <string_view>

namespace slipway {

/// Throws Error{kEnvironment}: "[output] cannot <what> <path>: <the system's reason>".
[[noreturn]] void fail_output(std::string_view what, const std::filesystem::path& path, int error);

/// The absolute path that writing to `path` reaches: links followed (also dangling ones), parents
/// made. The last component need not exist.
std::filesystem::path resolve_output(const std::filesystem::path& path);

/// ".<name>.slipway-<pid>-<n>" beside `final_path`, with an n that this process has not used.
std::filesystem::path staging_path(const std::filesystem::path& final_path);

/// Moves `final_path` aside and `staging` to its place, where the file system cannot exchange two
/// names. Returns where the old folder is; clean_stale() puts it back when a kill came in between.
std::filesystem::path replace_in_two_renames(const std::filesystem::path& staging,
                                             const std::filesystem::path& final_path);

/// Removes staging files and folders beside `final_path` whose process is gone, after putting back
/// an old folder that a kill between two renames left aside.
void clean_stale(const std::filesystem::path& final_path);

/// Locks a folder for as long as the descriptor that is returned stays open; -1 when it cannot.
int lock_folder(const std::filesystem::path& folder);

}  // namespace slipway

// Finds and opens the plug-in library of a runtime.
#include "runtime/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "slipway/error.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> ended{false};

void forward_message(int32_t level, const char* text) {
  if (level == abi::kLogWarning) return log::warning_once(text);
  if (level == abi::kLogInfo) return log::info(text);
  log::debug(text);
}

std::vector<fs::path> search_folders() {
  if (const char* named = std::getenv("SLIPWAY_RUNTIME_DIR"); named != nullptr && *named != '\0')
    return {fs::path(named)};
  std::vector<fs::path> folders;
  std::error_code ignored;
  const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
  if (!executable.empty()) folders.push_back(executable.parent_path().parent_path() / "lib");
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&forward_message), &info) != 0 && info.dli_fname != nullptr)
    folders.push_back(fs::absolute(info.dli_fname, ignored).parent_path());
  folders.emplace_back(SLIPWAY_PLUGIN_DEFAULT);
  return folders;
}

/// The first file of that name that exists; an empty path where there is none.
fs::path find_library(const std::string& name, const std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name, ignored)) return fs::absolute(folder / name, ignored);
  return {};
}

const abi::Runtime* open_table(const fs::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Error(kEnvironment,
                fmt::format("[runtime] cannot open {}: {}; build it again, or fetch the runtime "
                            "library that it needs (`make deps`)",
                            path.string(), reason != nullptr ? reason : "unknown"));
  }
  const auto entry = reinterpret_cast<abi::EntryPoint>(dlsym(handle, abi::kEntryPoint));
  const abi::Runtime* api = entry != nullptr ? entry() : nullptr;
  if (api == nullptr)
    throw Error(kEnvironment, fmt::format("[runtime] {} is not a plug-in: it has no {}",
                                          path.string(), abi::kEntryPoint));
  if (api->version != abi::kVersion || api->table_bytes < sizeof(abi::Runtime))
    throw Error(kEnvironment,
                fmt::format("[runtime] {} has interface version {} ({} bytes), need {} ({} bytes); "
                            "use the plug-in that was built with this program",
                            path.string(), api->version, api->table_bytes, abi::kVersion,
                            sizeof(abi::Runtime)));
  return api;
}

}  // namespace

const Plugin& Plugin::load(std::string_view format) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Plugin>, std::less<>> opened;
  const std::lock_guard lock(mutex);
  if (const auto at = opened.find(format); at != opened.end()) return *at->second;

  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (format.empty() || format.find_first_not_of(kLetters) != format.npos)
    throw Error(kUsage, fmt::format("[runtime] '{}' is not the name of a format", format));
  const std::string name = fmt::format("libslipway_runtime_{}.so", format);
  const std::vector<fs::path> folders = search_folders();
  const fs::path path = find_library(name, folders);
  if (path.empty()) {
    std::vector<std::string> looked;
    for (const fs::path& folder : folders) looked.push_back(folder.string());
    throw Error(kEnvironment,
                fmt::format("[runtime] no plug-in {} to run {} files in {}; build it (the target "
                            "slipway_runtime_{}) or set SLIPWAY_RUNTIME_DIR to its folder",
                            name, format, fmt::join(looked, ", "), format));
  }
  auto plugin = std::make_unique<Plugin>();
  plugin->api_ = open_table(path);
  plugin->path_ = path;
  plugin->api_->set_logger(forward_message);
  return *opened.emplace(format, std::move(plugin)).first->second;
}

void Plugin::mark_end() const {
  // Handlers and destructors of statics run in reverse: this one before those of the libraries.
  std::call_once(marked_, [] { std::atexit([] { ended.store(true); }); });
}

bool runtimes_ended() { return ended.load(); }

const abi::RuntimeDescription& Plugin::runtime() const {
  const abi::RuntimeDescription* description = nullptr;
  throw_on_failure(api_->describe_runtime(&description));
  SLIPWAY_ASSERT(description != nullptr);
  return *description;
}

void throw_on_failure(abi::Result result) {
  if (result == nullptr) return;
  const bool known = result->kind >= static_cast<int32_t>(kUsage) &&
                     result->kind <= static_cast<int32_t>(kInternal);
  throw Error(known ? static_cast<ErrorKind>(result->kind) : kInternal, result->text);
}

}  // namespace slipway

// Finds and opens libonnxruntime on first use.
#include "backends/onnx/runner/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "runtime/abi.h"
#include "slipway/error.h"

namespace slipway::onnx_runner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSoname = "libonnxruntime.so.1";
constexpr const char* kHowToGet =
    "get it with `make deps`, or set SLIPWAY_ONNXRUNTIME to the library or to its folder (in the "
    "onnxruntime Python wheel: onnxruntime/capi)";

std::atomic<void (*)(int32_t, const char*)> logger{nullptr};

void ORT_API_CALL forward_message(void*, OrtLoggingLevel severity, const char*, const char*,
                                  const char*, const char* message) {
  const auto log = logger.load();
  if (log == nullptr || message == nullptr) return;
  // What it says of every optional input, whose default is meant to be replaced.
  const bool is_optional_input =
      std::string_view(message).find("appears in graph inputs and will not be treated as") !=
      std::string_view::npos;
  const int32_t level = is_optional_input                       ? abi::kLogDebug
                        : severity == ORT_LOGGING_LEVEL_WARNING ? abi::kLogWarning
                        : severity >= ORT_LOGGING_LEVEL_ERROR   ? abi::kLogInfo
                                                                : abi::kLogDebug;
  log(level, (std::string("[ONNX Runtime] ") + message).c_str());
}

/// The folder of this plug-in.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&forward_message), &info) == 0 || info.dli_fname == nullptr)
    return {};
  return fs::path(info.dli_fname).parent_path();
}

/// The library in a folder: the wheel has only a file with the full version in its name.
fs::path library_in(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {kSoname, "libonnxruntime.so"})
    if (fs::exists(folder / name, ignored)) return folder / name;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().rfind("libonnxruntime.so.1.", 0) == 0) return entry.path();
  return {};
}

struct Opened {
  void* handle = nullptr;
  std::string path;
};

Opened open_library() {
  std::vector<std::string> tried;
  const auto attempt = [&tried](const std::string& file) -> Opened {
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, file};
    const char* reason = dlerror();
    tried.push_back(reason != nullptr ? reason : file);
    return {};
  };
  const auto missing = [&tried] {
    return Error(kEnvironment, fmt::format("[onnx] cannot open ONNX Runtime ({}); {}",
                                           fmt::join(tried, "; "), kHowToGet));
  };

  if (const char* named = std::getenv("SLIPWAY_ONNXRUNTIME"); named != nullptr && *named != '\0') {
    std::error_code ignored;
    fs::path file = named;
    if (fs::is_directory(file, ignored)) file = library_in(file);
    // An absolute path keeps dlopen from searching elsewhere for a plain file name.
    const fs::path absolute = file.empty() ? file : fs::absolute(file, ignored);
    if (absolute.empty() || !fs::exists(absolute, ignored))
      tried.push_back(fmt::format("SLIPWAY_ONNXRUNTIME={}: no such library", named));
    else if (Opened opened = attempt(absolute.string()); opened.handle != nullptr) return opened;
    throw missing();
  }
  for (const fs::path& folder : {own_folder(), fs::path(SLIPWAY_ONNXRUNTIME_DEFAULT)}) {
    const fs::path file = library_in(folder);
    if (file.empty()) tried.push_back(fmt::format("{}: not in {}", kSoname, folder.string()));
    else if (Opened opened = attempt(file.string()); opened.handle != nullptr) return opened;
  }
  if (Opened opened = attempt(kSoname); opened.handle != nullptr) return opened;
  throw missing();
}

std::unique_ptr<Library> load() {
  // Without this it opens a database under the home folder as soon as there is an environment, and
  // may upload from there; DisableTelemetryEvents comes too late. A value that is set stays.
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 0);
  const Opened opened = open_library();
  using GetBase = const OrtApiBase*(ORT_API_CALL*)();
  const auto get_base = reinterpret_cast<GetBase>(dlsym(opened.handle, "OrtGetApiBase"));
  if (get_base == nullptr)
    throw Error(kEnvironment,
                fmt::format("[onnx] {} is not ONNX Runtime: it has no OrtGetApiBase; {}",
                            opened.path, kHowToGet));
  const OrtApiBase* base = get_base();
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr)
    throw Error(kEnvironment,
                fmt::format("[onnx] {} is ONNX Runtime {}, need 1.{} or newer; {}", opened.path,
                            base->GetVersionString(), ORT_API_VERSION, kHowToGet));
  Ort::InitApi(api);
  auto made = std::make_unique<Library>();
  made->path = opened.path;
  made->version = base->GetVersionString();
  made->providers = Ort::GetAvailableProviders();
  made->env = Ort::Env(ORT_LOGGING_LEVEL_WARNING, "slipway", forward_message, nullptr);
  made->env.DisableTelemetryEvents();
  return made;
}

}  // namespace

const Library& library() {
  static std::mutex mutex;
  static const Library* instance = nullptr;
  const std::lock_guard lock(mutex);
  if (instance == nullptr) instance = load().release();
  return *instance;
}

void set_logger(void (*log)(int32_t level, const char* text)) { logger.store(log); }

}  // namespace slipway::onnx_runner

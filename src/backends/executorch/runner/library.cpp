// The ExecuTorch that this plug-in is linked with.
#include "backends/executorch/runner/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/abi.h"
#include "slipway/error.h"

namespace slipway::executorch_runner {
namespace {

using Log = void (*)(int32_t level, const char* text);
std::atomic<Log> the_log{nullptr};
thread_local std::string errors;
thread_local int guards = 0;
constexpr size_t kMostErrors = 2000;  // bytes; a broken file may have an error for every op

/// What the runtime says while it is loaded is about the machine, and no matter for users.
void take_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                  const char* message, size_t length) {
  const std::string text(message, length);
  const bool error = level == kError || level == kFatal;
  if (error && errors.size() < kMostErrors) errors += (errors.empty() ? "" : "; ") + text;
  if (const Log log = the_log.load())
    log(level == kFatal && guards == 0 ? abi::kLogWarning : abi::kLogDebug,
        ("[executorch] " + text).c_str());
}

/// The runtime must not go on after this. Threads of its pool have nobody who catches: there it
/// ends the process.
[[noreturn]] void take_abort() {
  if (guards == 0) std::abort();
  throw Stopped();
}

/// Before any other file of this library asks for the runtime.
const bool hooks_set =
    et::register_pal(et::PalImpl::create(nullptr, take_abort, nullptr, nullptr, take_message,
                                         nullptr, nullptr, "slipway_runtime_executorch"));

std::mutex pool_mutex;
int pool_users = 0;
int pool_threads = 0;

/// What a code of the runtime means to whoever asked.
ErrorKind kind_of(et::Error error, Stage stage) {
  switch (error) {
    case et::Error::NotSupported:
    case et::Error::NotImplemented:
    case et::Error::OperatorMissing:
    case et::Error::DelegateInvalidCompatibility:
      return kUnsupported;
    case et::Error::MemoryAllocationFailed:
    case et::Error::DelegateMemoryAllocationFailed:
    case et::Error::OutOfResources:
    case et::Error::AccessFailed:
      return kEnvironment;
    case et::Error::InvalidState:
      return stage == Stage::kRunning ? kInternal : kInvalid;
    default:
      return kInvalid;
  }
}

}  // namespace

const Library& library() {
  static const Library library = [] {
    et::runtime_init();
    Library made{SLIPWAY_EXECUTORCH_VERSION, ""};
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&et::runtime_init), &info) != 0 && info.dli_fname)
      made.path = info.dli_fname;
    return made;
  }();
  (void)hooks_set;
  return library;
}

void set_logger(Log log) { the_log = log; }

void use_threads(int count) {
  const std::lock_guard lock(pool_mutex);
  if (count <= 0 || count == pool_threads) return;
  if (pool_users > 0) {
    if (const Log log = the_log.load())
      log(abi::kLogInfo, fmt::format("[executorch] {} threads were asked for; other methods are "
                                     "loaded, so there are {} as before",
                                     count, pool_threads)
                             .c_str());
    return;
  }
  auto* pool = ::executorch::extension::threadpool::get_threadpool();
  if (pool != nullptr && pool->get_thread_count() != static_cast<size_t>(count))
    pool->_unsafe_reset_threadpool(static_cast<uint32_t>(count));
  pool_threads = count;
}

PoolUser::PoolUser() {
  const std::lock_guard lock(pool_mutex);
  ++pool_users;
}
PoolUser::~PoolUser() {
  const std::lock_guard lock(pool_mutex);
  --pool_users;
}

GuardScope::GuardScope() { ++guards; }
GuardScope::~GuardScope() { --guards; }

void fail_stopped(std::string_view what) {
  throw Error(kInvalid, fmt::format("[executorch] {}: ExecuTorch stopped: {}; the file is broken, "
                                    "export it again",
                                    what, std::exchange(errors, {})));
}

void clear_errors() { errors.clear(); }

void check(et::Error error, std::string_view what, Stage stage) {
  if (error == et::Error::Ok) return;
  const std::string said = std::exchange(errors, {});
  throw Error(kind_of(error, stage),
              fmt::format("[executorch] {}: ExecuTorch says {}{}{}", what, et::to_string(error),
                          said.empty() ? "" : ": ", said));
}

}  // namespace slipway::executorch_runner

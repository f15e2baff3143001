// The ExecuTorch that this plug-in is linked with: its version, messages, threads and errors.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "backends/executorch/runner/et.h"

namespace slipway::executorch_runner {

struct Library {
  std::string version;  ///< "1.5.1"
  std::string path;     ///< of libexecutorch.so
};

/// Initializes the runtime on the first call.
const Library& library();

/// Where the runtime's messages go from now on. Its errors also end in the text of what check()
/// throws.
void set_logger(void (*log)(int32_t level, const char* text));

/// ExecuTorch has one pool of threads for the process: it is made anew where no method is loaded,
/// otherwise it stays as it is. 0: as it likes.
void use_threads(int count);
/// A loaded method's claim on the pool. Delegates keep pointers to it.
class PoolUser {
 public:
  PoolUser();
  ~PoolUser();
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;
};

/// Whether a failure is the file's or a run's.
enum class Stage { kLoading, kRunning };

/// A failed assert of the runtime, under way to guarded().
struct Stopped : std::exception {
  const char* what() const noexcept override { return "an assert failed"; }
};
[[noreturn]] void fail_stopped(std::string_view what);
/// While one lives, asserts of this thread throw Stopped.
class GuardScope {
 public:
  GuardScope();
  ~GuardScope();
  GuardScope(const GuardScope&) = delete;
  GuardScope& operator=(const GuardScope&) = delete;
};

/// Forgets the errors that the runtime wrote in this thread.
void clear_errors();
/// Throws an Error unless the result is Ok: `what` did not work, and what the runtime wrote about
/// it since clear_errors().
void check(et::Error error, std::string_view what, Stage stage);

/// Calls the runtime. An assert of it that fails in this thread ends the call, not the process,
/// with Error{kInvalid} like one of check(): some kernels find out only while they run that a file
/// asks for more elements than 32 bits count. The runtime makes an error of its own of what a
/// kernel throws; what else was called is unusable afterwards.
template <class Call>
auto guarded(std::string_view what, Call call) {
  const GuardScope scope;
  try {
    return call();
  } catch (const Stopped&) {
    fail_stopped(what);
  }
}

}  // namespace slipway::executorch_runner

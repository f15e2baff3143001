// The ExecuTorch that this plug-in is linked with: its version, messages, threads and errors.
#pragma once

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

/// Forgets the errors that the runtime wrote in this thread.
void clear_errors();
/// Throws an Error unless the result is Ok: `what` did not work, and what the runtime wrote about
/// it since clear_errors().
void check(et::Error error, std::string_view what, Stage stage);

}  // namespace slipway::executorch_runner

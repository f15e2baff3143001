// The table of functions that the ExecuTorch plug-in exports; nothing is thrown past it.
#include "backends/executorch/runner/call.h"
#include "backends/executorch/runner/library.h"
#include "backends/executorch/runner/model.h"
#include "runtime/plugin_table.h"

namespace slipway::executorch_runner {
namespace {

struct Runner {
  using Model = executorch_runner::Model;
  using RepeatedCall = executorch_runner::RepeatedCall;
  static constexpr const char* kName = "executorch";

  static const abi::RuntimeDescription& description() {
    static const char* const devices[] = {"cpu"};
    static const abi::RuntimeDescription description{"ExecuTorch", library().version.c_str(),
                                                     library().path.c_str(), 1, devices};
    return description;
  }

  static void set_logger(void (*log)(int32_t, const char*)) { executorch_runner::set_logger(log); }

  /// ExecuTorch throws nothing.
  [[noreturn]] static void rethrow_as_ours() { throw; }
};

}  // namespace
}  // namespace slipway::executorch_runner

extern "C" __attribute__((visibility("default"))) const slipway::abi::Runtime*
slipway_runtime_api() {
  return slipway::plugin_table<slipway::executorch_runner::Runner>();
}

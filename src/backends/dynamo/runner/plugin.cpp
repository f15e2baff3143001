// The table of functions that the libtorch plug-in exports; nothing is thrown past it.
#include <string>
#include <vector>

#include "backends/dynamo/runner/call.h"
#include "backends/dynamo/runner/library.h"
#include "backends/dynamo/runner/model.h"
#include "runtime/plugin_table.h"

namespace slipway::dynamo_runner {
namespace {

struct Runner {
  using Model = dynamo_runner::Model;
  using RepeatedCall = dynamo_runner::RepeatedCall;
  static constexpr const char* kName = "dynamo";

  static const abi::RuntimeDescription& description() {
    static const auto* devices = [] {
      auto* made = new std::vector<const char*>;
      for (const std::string& device : library().devices) made->push_back(device.c_str());
      return made;
    }();
    static const abi::RuntimeDescription description{"libtorch", library().version.c_str(),
                                                     library().path.c_str(), devices->size(),
                                                     devices->data()};
    return description;
  }

  /// libtorch's warnings go to stderr as it writes them; it has no other messages here.
  static void set_logger(void (*)(int32_t, const char*)) {}

  /// Of libtorch's own exceptions, in calls that do not name a node.
  [[noreturn]] static void rethrow_as_ours() {
    try {
      throw;
    } catch (const c10::Error& e) {
      throw Error(kInvalid, std::string("[dynamo] ") + e.what_without_backtrace());
    }
  }
};

}  // namespace
}  // namespace slipway::dynamo_runner

extern "C" __attribute__((visibility("default"))) const slipway::abi::Runtime*
slipway_runtime_api() {
  return slipway::plugin_table<slipway::dynamo_runner::Runner>();
}

// The table of functions that the OpenVINO plug-in exports; nothing is thrown past it.
#include <vector>

#include "backends/openvino/runner/call.h"
#include "backends/openvino/runner/library.h"
#include "backends/openvino/runner/model.h"
#include "runtime/plugin_table.h"

namespace slipway::openvino_runner {
namespace {

struct Runner {
  using Model = openvino_runner::Model;
  using RepeatedCall = openvino_runner::RepeatedCall;
  static constexpr const char* kName = "openvino";

  static const abi::RuntimeDescription& description() {
    static const auto* devices = [] {
      auto* made = new std::vector<const char*>;
      for (const std::string& device : library().devices) made->push_back(device.c_str());
      return made;
    }();
    static const abi::RuntimeDescription description{"OpenVINO", library().version.c_str(),
                                                     library().path.c_str(), devices->size(),
                                                     devices->data()};
    return description;
  }

  static void set_logger(void (*log)(int32_t, const char*)) { openvino_runner::set_logger(log); }

  [[noreturn]] static void rethrow_as_ours() {
    try {
      throw;
    } catch (const ov::Exception& e) {
      rethrow(e, "a tensor", Stage::kRunning);
    }
  }
};

}  // namespace
}  // namespace slipway::openvino_runner

extern "C" __attribute__((visibility("default"))) const slipway::abi::Runtime*
slipway_runtime_api() {
  return slipway::plugin_table<slipway::openvino_runner::Runner>();
}

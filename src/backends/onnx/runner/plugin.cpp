// The table of functions that the ONNX Runtime plug-in exports; nothing is thrown past it.
#include <string>
#include <vector>

#include "backends/onnx/runner/call.h"
#include "backends/onnx/runner/library.h"
#include "backends/onnx/runner/session.h"
#include "runtime/plugin_table.h"

namespace slipway::onnx_runner {
namespace {

struct Runner {
  using Model = onnx_runner::Model;
  using RepeatedCall = onnx_runner::RepeatedCall;
  static constexpr const char* kName = "onnx";

  static const abi::RuntimeDescription& description() {
    static const auto* names = [] {
      auto* made = new std::vector<const char*>;
      for (const std::string& provider : library().providers) made->push_back(provider.c_str());
      return made;
    }();
    static const abi::RuntimeDescription description{"ONNX Runtime", library().version.c_str(),
                                                     library().path.c_str(), names->size(),
                                                     names->data()};
    return description;
  }

  static void set_logger(void (*log)(int32_t, const char*)) { onnx_runner::set_logger(log); }

  [[noreturn]] static void rethrow_as_ours() {
    try {
      throw;
    } catch (const Ort::Exception& e) {
      rethrow(e, "a tensor", Stage::kRunning);
    }
  }
};

}  // namespace
}  // namespace slipway::onnx_runner

extern "C" __attribute__((visibility("default"))) const slipway::abi::Runtime*
slipway_runtime_api() {
  return slipway::plugin_table<slipway::onnx_runner::Runner>();
}

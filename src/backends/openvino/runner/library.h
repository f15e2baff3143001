// The OpenVINO that this plug-in is linked with: its version and devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/openvino/runner/ov.h"

namespace slipway::openvino_runner {

struct Library {
  std::string path;
  std::string version;
  std::vector<std::string> devices;  ///< as OpenVINO names them, those of this machine
};

/// Looks at the devices on the first call. Throws Error{kEnvironment} where there is none.
const Library& library();

/// Where messages of the plug-in go; OpenVINO itself says nothing but what it throws.
void set_logger(void (*log)(int32_t level, const char* text));
void log_info(const std::string& text);

/// OpenVINO's name of a device: "cpu" is CPU, "xpu", "xpu:1" an Intel GPU, "auto" what OpenVINO
/// chooses among the devices that there are; its own names, "HETERO:GPU,CPU" too, in any case.
/// Throws Error{kEnvironment} listing the devices for one that is not there.
std::string find_device(std::string_view name);

/// What an exception of OpenVINO says, on one line and without the places in its sources.
std::string reason(std::string_view what);

/// An error of OpenVINO as ours: whose mistake it is depends on what was being done.
enum class Stage { kLoading, kRunning };
[[noreturn]] void rethrow(const std::exception& error, std::string_view where, Stage stage);

}  // namespace slipway::openvino_runner

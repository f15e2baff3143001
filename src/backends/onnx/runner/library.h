// Finds and opens libonnxruntime on first use.
#pragma once

#include <string>
#include <vector>

#include "backends/onnx/runner/ort.h"

namespace slipway::onnx_runner {

/// The opened ONNX Runtime. One a process, never destroyed: sessions may outlive static objects.
struct Library {
  std::string path;
  std::string version;
  std::vector<std::string> providers;  ///< those compiled in, best first
  Ort::Env env{nullptr};
};

/// Opens the library on the first call. Looks at the environment variable SLIPWAY_ONNXRUNTIME (a
/// file, or a folder that holds one; nothing else is tried when it is set), beside this plug-in,
/// where it was built, then where the system looks. Throws Error{kEnvironment} that says where it
/// looked and how to get the library; a later call tries again.
const Library& library();

/// Where messages of ONNX Runtime go. Errors come back from the failed call as well, so they are
/// passed on as information.
void set_logger(void (*log)(int32_t level, const char* text));

}  // namespace slipway::onnx_runner

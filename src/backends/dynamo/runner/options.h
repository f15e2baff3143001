// The JSON options of a session.
#pragma once

#include <string>
#include <string_view>

namespace slipway::dynamo_runner {

struct Options {
  std::string device = "cpu";
  int threads = 0;  ///< 0: libtorch's default
};

/// Reads the options described in runtime/abi.h. A provider is a device; the settings of ONNX
/// Runtime's optimizer have no meaning here. Throws Error{kUsage} for unknown or malformed ones.
Options read_options(std::string_view json);

}  // namespace slipway::dynamo_runner

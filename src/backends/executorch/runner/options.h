// The JSON options of a session.
#pragma once

#include <string>
#include <string_view>

namespace slipway::executorch_runner {

struct Options {
  int threads = 0;  ///< 0: as many as ExecuTorch likes
  // Of "config":
  std::string method;             ///< "decode"; empty: that of the component
  std::string component;          ///< its method, where there is one of that name; otherwise
                                  ///< `forward`, or the only one
  std::string in_spec, out_spec;  ///< the tree specs of export.json, for files without names
};

/// Reads the options described in runtime/abi.h. A program runs where it was lowered for, so the
/// only device is "cpu". Throws Error{kUsage} for unknown or malformed ones and
/// Error{kEnvironment} for another device.
Options read_options(std::string_view json);

}  // namespace slipway::executorch_runner

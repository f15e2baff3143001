// The JSON options of a session.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace slipway::openvino_runner {

struct Options {
  std::string device = "AUTO";                    ///< OpenVINO's name
  int threads = 0;                                ///< 0: as many as OpenVINO thinks right
  std::map<std::string, std::string> properties;  ///< OpenVINO's own, ours among them
};

/// Reads the options described in runtime/abi.h. `config` has OpenVINO's compile properties by
/// name ("CACHE_DIR", "INFERENCE_PRECISION_HINT", "ENABLE_MMAP"). Throws Error{kUsage} for unknown
/// or malformed options, Error{kEnvironment} listing the devices when the one named is not there.
Options read_options(std::string_view json);

}  // namespace slipway::openvino_runner

// The JSON options of a session.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace slipway::openvino_runner {

/// Whether attention is paged: where that takes the same inputs (kAuto), never, or wherever it can
/// be, else loading fails.
enum class Attention { kAuto, kPlain, kPaged };

struct Options {
  std::string device = "AUTO";  ///< OpenVINO's name
  int threads = 0;              ///< 0: as many as OpenVINO thinks right
  Attention attention = Attention::kAuto;
  std::map<std::string, std::string> properties;  ///< OpenVINO's own, and ENABLE_MMAP
};

/// Reads the options described in runtime/abi.h. `config` has OpenVINO's compile properties by
/// name ("CACHE_DIR", "INFERENCE_PRECISION_HINT", "ENABLE_MMAP"), and
/// ATTENTION_BACKEND: PA or SDPA, as OpenVINO GenAI calls them. Throws Error{kUsage} for unknown
/// or malformed options, Error{kEnvironment} listing the devices when the one named is not there.
Options read_options(std::string_view json);

}  // namespace slipway::openvino_runner

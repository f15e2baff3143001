// The JSON options of a session.
#include "backends/executorch/runner/options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "slipway/error.h"

namespace slipway::executorch_runner {
namespace {

using nlohmann::json;

[[noreturn]] void malformed(std::string_view key, const json& got, std::string_view need) {
  throw Error(kUsage, fmt::format("[executorch] got {} for the session option {}, need {}",
                                  got.dump(), key, need));
}

void check_device(const json& device) {
  if (!device.is_string()) malformed("device", device, "the name cpu");
  if (device.get<std::string>() != "cpu")
    throw Error(kEnvironment, fmt::format("[executorch] got the device {}; a .pte program runs "
                                          "where it was lowered for, need cpu",
                                          device.get<std::string>()));
}

void read_config(const json& config, Options& options) {
  if (!config.is_object()) malformed("config", config, "an object of texts");
  for (const auto& [key, value] : config.items()) {
    std::string* const option = key == "component"  ? &options.component
                                : key == "method"   ? &options.method
                                : key == "in_spec"  ? &options.in_spec
                                : key == "out_spec" ? &options.out_spec
                                                    : nullptr;
    if (option == nullptr)
      throw Error(kUsage, fmt::format("[executorch] unknown session option '{}'; a .pte program "
                                      "takes `method`, the name of the one to run",
                                      key));
    if (!value.is_string()) malformed(key, value, "a text");
    *option = value.get<std::string>();
  }
}

}  // namespace

Options read_options(std::string_view text) {
  const json given = json::parse(text, nullptr, false);
  if (!given.is_object()) throw Error(kUsage, "[executorch] session options are not a JSON object");
  if (given.contains("device") && given.contains("providers"))
    throw Error(kUsage, "[executorch] got both a device and providers; give one of them");
  Options options;
  for (const auto& [key, value] : given.items()) {
    if (key == "device") {
      check_device(value);
    } else if (key == "providers") {
      if (!value.is_array() || value.size() != 1) malformed(key, value, "one device: cpu");
      check_device(value[0]);
    } else if (key == "intra_op_threads") {
      if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > 4096)
        malformed(key, value, "a number of threads from 0 to 4096");
      options.threads = value.get<int>();
    } else if (key == "config") {
      read_config(value, options);
    } else if (key == "provider_options") {
      if (!value.is_object() || !value.empty())
        malformed(key, value, "none: ExecuTorch takes no such settings");
    } else if (key != "inter_op_threads" && key != "graph_optimization") {
      throw Error(kUsage, fmt::format("[executorch] unknown session option '{}'", key));
    }
  }
  return options;
}

}  // namespace slipway::executorch_runner

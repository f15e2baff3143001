// The JSON options of a session.
#include "backends/openvino/runner/options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/openvino/runner/library.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

using nlohmann::json;

[[noreturn]] void malformed(std::string_view key, const json& got, std::string_view need) {
  throw Error(kUsage, fmt::format("[openvino] got {} for the session option {}, need {}",
                                  got.dump(), key, need));
}

/// "GPU,CPU" of ["GPU", "CPU"].
std::string device_list(const json& names) {
  std::string list;
  for (const json& name : names) {
    if (!name.is_string()) malformed("providers", names, "a list of devices");
    list += (list.empty() ? "" : ",") + name.get<std::string>();
  }
  return names.size() == 1 ? list : "AUTO:" + list;
}

Attention attention_of(const std::string& backend) {
  if (backend == "PA") return Attention::kPaged;
  if (backend == "SDPA") return Attention::kPlain;
  malformed("ATTENTION_BACKEND", backend, "PA or SDPA");
}

}  // namespace

Options read_options(std::string_view text) {
  const json given = json::parse(text, nullptr, false);
  if (!given.is_object()) throw Error(kUsage, "[openvino] session options are not a JSON object");
  if (given.contains("device") && given.contains("providers"))
    throw Error(kUsage, "[openvino] got both a device and providers; give one of them");
  Options options;
  std::string device = "auto";
  for (const auto& [key, value] : given.items()) {
    if (key == "device") {
      if (!value.is_string()) malformed(key, value, "a name such as cpu, xpu or auto");
      device = value.get<std::string>();
    } else if (key == "providers") {
      if (!value.is_array() || value.empty()) malformed(key, value, "a list of devices");
      device = device_list(value);
    } else if (key == "intra_op_threads") {
      if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > 4096)
        malformed(key, value, "a number of threads from 0 to 4096");
      options.threads = value.get<int>();
    } else if (key == "config") {
      if (!value.is_object()) malformed(key, value, "an object of strings");
      for (const auto& [name, entry] : value.items())
        options.properties[name] = entry.is_string() ? entry.get<std::string>() : entry.dump();
    } else if (key == "provider_options") {
      if (!value.is_object() || !value.empty())
        malformed(key, value, "none: OpenVINO's properties go into config");
    } else if (key != "inter_op_threads" && key != "graph_optimization") {
      throw Error(kUsage, fmt::format("[openvino] unknown session option '{}'", key));
    }
  }
  if (const auto backend = options.properties.extract("ATTENTION_BACKEND"))
    options.attention = attention_of(backend.mapped());
  options.device = find_device(device);
  return options;
}

}  // namespace slipway::openvino_runner

// The JSON options of a session.
#include "backends/dynamo/runner/options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

using nlohmann::json;

[[noreturn]] void malformed(std::string_view key, const json& got, std::string_view need) {
  throw Error(kUsage, fmt::format("[dynamo] got {} for the session option {}, need {}", got.dump(),
                                  key, need));
}

}  // namespace

Options read_options(std::string_view text) {
  const json given = json::parse(text, nullptr, false);
  if (!given.is_object()) throw Error(kUsage, "[dynamo] session options are not a JSON object");
  if (given.contains("device") && given.contains("providers"))
    throw Error(kUsage, "[dynamo] got both a device and providers; give one of them");
  Options options;
  for (const auto& [key, value] : given.items()) {
    if (key == "device") {
      if (!value.is_string()) malformed(key, value, "a name such as cpu or cuda:0");
      options.device = value.get<std::string>();
    } else if (key == "providers") {
      if (!value.is_array() || value.size() != 1 || !value[0].is_string())
        malformed(key, value, "one device, such as cpu or cuda:0");
      options.device = value[0].get<std::string>();
    } else if (key == "intra_op_threads") {
      if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > 4096)
        malformed(key, value, "a number of threads from 0 to 4096");
      options.threads = value.get<int>();
    } else if (key == "config" || key == "provider_options") {
      if (!value.is_object() || !value.empty())
        malformed(key, value, "none: libtorch takes no such settings");
    } else if (key != "inter_op_threads" && key != "graph_optimization") {
      throw Error(kUsage, fmt::format("[dynamo] unknown session option '{}'", key));
    }
  }
  return options;
}

}  // namespace slipway::dynamo_runner

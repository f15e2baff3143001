// The JSON options of a session, turned into ONNX Runtime's.
#include "backends/onnx/runner/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "slipway/error.h"

namespace slipway::onnx_runner {
namespace {

using nlohmann::json;
using Settings = std::unordered_map<std::string, std::string>;

constexpr std::string_view kSuffix = "ExecutionProvider";

[[noreturn]] void malformed(std::string_view key, const json& got, std::string_view need) {
  throw Error(kUsage, fmt::format("[onnx] got {} for the session option {}, need {}", got.dump(),
                                  key, need));
}

std::string text(std::string_view key, const json& value) {
  if (!value.is_string()) malformed(key, value, "a string");
  return value.get<std::string>();
}

Settings settings(std::string_view key, const json& value) {
  if (!value.is_object()) malformed(key, value, "an object of strings");
  Settings result;
  for (const auto& [name, entry] : value.items())
    result[name] = entry.is_string() ? entry.get<std::string>() : entry.dump();
  return result;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "cuda" and "CUDAExecutionProvider" are both CUDAExecutionProvider.
std::string find_provider(const std::string& name, const Library& library) {
  for (const std::string& has : library.providers)
    if (lower(has) == lower(name) || lower(has) == lower(name + std::string(kSuffix))) return has;
  throw Error(kEnvironment,
              fmt::format("[onnx] no execution provider '{}' in ONNX Runtime {} ({}), it has {}; "
                          "use one of these or install a build that has it",
                          name, library.version, library.path, fmt::join(library.providers, ", ")));
}

template <class Options, class Create, class Update, class Release, class Append>
void append_v2(const Settings& settings, Create create, Update update, Release release,
               Append append) {
  Options* raw = nullptr;
  Ort::ThrowOnError(create(&raw));
  const std::unique_ptr<Options, Release> options(raw, release);
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : settings) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  Ort::ThrowOnError(update(options.get(), keys.data(), values.data(), keys.size()));
  append(*options);
}

void append_provider(Ort::SessionOptions& options, const std::string& provider,
                     const Settings& settings) {
  const OrtApi& api = Ort::GetApi();
  if (provider == "CPUExecutionProvider") return;  // always there, after all others
  if (provider == "CUDAExecutionProvider") {
    append_v2<OrtCUDAProviderOptionsV2>(
        settings, api.CreateCUDAProviderOptions, api.UpdateCUDAProviderOptions,
        api.ReleaseCUDAProviderOptions,
        [&](const auto& cuda) { options.AppendExecutionProvider_CUDA_V2(cuda); });
  } else if (provider == "TensorrtExecutionProvider") {
    append_v2<OrtTensorRTProviderOptionsV2>(
        settings, api.CreateTensorRTProviderOptions, api.UpdateTensorRTProviderOptions,
        api.ReleaseTensorRTProviderOptions,
        [&](const auto& trt) { options.AppendExecutionProvider_TensorRT_V2(trt); });
  } else {
    options.AppendExecutionProvider(provider.substr(0, provider.size() - kSuffix.size()), settings);
  }
}

int threads(std::string_view key, const json& value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > 4096)
    malformed(key, value, "a number of threads from 0 to 4096");
  return value.get<int>();
}

GraphOptimizationLevel optimization(const json& value) {
  const std::string level = text("graph_optimization", value);
  if (level == "none") return ORT_DISABLE_ALL;
  if (level == "basic") return ORT_ENABLE_BASIC;
  if (level == "extended") return ORT_ENABLE_EXTENDED;
  if (level == "all") return ORT_ENABLE_ALL;
  malformed("graph_optimization", value, "none, basic, extended or all");
}

/// The providers asked for and their settings, in order.
std::vector<std::pair<std::string, Settings>> chosen_providers(const json& given,
                                                               const Library& library) {
  std::vector<std::pair<std::string, Settings>> chosen;
  if (given.contains("providers") && given.contains("device"))
    throw Error(kUsage, "[onnx] got both a device and providers; give one of them");
  if (given.contains("providers")) {
    if (!given["providers"].is_array() || given["providers"].empty())
      malformed("providers", given["providers"], "a list of names");
    for (const json& name : given["providers"])
      chosen.emplace_back(find_provider(text("providers", name), library), Settings{});
  } else {
    const std::string device = given.contains("device") ? text("device", given["device"]) : "cpu";
    const size_t colon = device.find(':');
    chosen.emplace_back(find_provider(device.substr(0, colon), library), Settings{});
    if (colon != std::string::npos) {
      const std::string index = device.substr(colon + 1);
      if (index.empty() || index.find_first_not_of("0123456789") != std::string::npos)
        malformed("device", device, "a name such as cpu or cuda:0");
      chosen.back().second["device_id"] = index;
    }
  }
  if (!given.contains("provider_options")) return chosen;
  if (!given["provider_options"].is_object())
    malformed("provider_options", given["provider_options"], "an object");
  for (const auto& [name, values] : given["provider_options"].items()) {
    const std::string provider = find_provider(name, library);
    const auto at = std::find_if(chosen.begin(), chosen.end(),
                                 [&](const auto& entry) { return entry.first == provider; });
    if (at == chosen.end())
      throw Error(kUsage, fmt::format("[onnx] got options for {}, which is not used", provider));
    for (const auto& [key, value] : settings(name, values)) at->second[key] = value;
  }
  return chosen;
}

}  // namespace

Ort::SessionOptions session_options(std::string_view text_options, const Library& library) {
  const json given = json::parse(text_options, nullptr, false);
  if (!given.is_object()) throw Error(kUsage, "[onnx] session options are not a JSON object");
  Ort::SessionOptions options;
  // Waiting threads sleep. Those that spin are faster by a tenth while nobody else wants the CPUs,
  // and take twice as long as soon as somebody does.
  options.AddConfigEntry("session.intra_op.allow_spinning", "0");
  for (const auto& [key, value] : given.items()) {
    if (key == "intra_op_threads") {
      options.SetIntraOpNumThreads(threads(key, value));
    } else if (key == "inter_op_threads") {
      options.SetInterOpNumThreads(threads(key, value));
    } else if (key == "graph_optimization") {
      options.SetGraphOptimizationLevel(optimization(value));
    } else if (key == "config") {
      for (const auto& [name, entry] : settings(key, value))
        options.AddConfigEntry(name.c_str(), entry.c_str());
    } else if (key != "device" && key != "providers" && key != "provider_options") {
      throw Error(kUsage, fmt::format("[onnx] unknown session option '{}'", key));
    }
  }
  for (const auto& [provider, values] : chosen_providers(given, library)) {
    try {
      append_provider(options, provider, values);
    } catch (const Ort::Exception& e) {
      throw Error(kEnvironment, fmt::format("[onnx] {} does not start: {}", provider, e.what()));
    }
  }
  return options;
}

}  // namespace slipway::onnx_runner

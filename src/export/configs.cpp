// Export configurations to and from JSON.
#include "slipway/configs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "export/manifest.h"

namespace slipway {
namespace {

std::string text_of(const Dim& dim) {
  if (dim.is_auto()) return "Dim.AUTO";
  return fmt::format("Dim('{}', min={}, max={})", dim.name,
                     dim.min ? std::to_string(*dim.min) : "None",
                     dim.max ? std::to_string(*dim.max) : "None");
}

Json shapes_json(const std::optional<DynamicShapes>& shapes) {
  if (!shapes) return nullptr;
  Json json = Json::object();
  for (const auto& [input, axes] : *shapes) {
    Json entry = Json::object();
    for (const auto& [axis, dim] : axes) entry[std::to_string(axis)] = text_of(dim);
    json[input] = entry;
  }
  return json;
}

constexpr std::array<std::pair<IoNames, const char*>, 3> kIoNames = {{
    {IoNames::kTransformers, "transformers"},
    {IoNames::kOptimum, "optimum"},
    {IoNames::kTransformersJs, "transformers.js"},
}};

const char* io_names_text(IoNames names) {
  return std::find_if(kIoNames.begin(), kIoNames.end(),
                      [&](const auto& row) { return row.first == names; })
      ->second;
}

[[noreturn]] void fail(const std::string& message) { throw Error(kUsage, "[config] " + message); }

IoNames io_names_of(const Json& value) {
  for (const auto& [names, text] : kIoNames)
    if (value == text) return names;
  fail("'io_names' must be \"transformers\", \"optimum\" or \"transformers.js\", got " +
       describe(value));
}

std::optional<int64_t> bound(const Json& spec, const char* key, const std::string& where) {
  if (!spec.contains(key) || spec[key].is_null()) return std::nullopt;
  if (!spec[key].is_number_integer()) fail(fmt::format("{}: '{}' must be an integer", where, key));
  return spec[key].get<int64_t>();
}

std::optional<Dim> dim_of(const Json& spec, const std::string& where) {
  if (spec.is_null()) return std::nullopt;
  if (spec.is_string()) {
    const auto name = spec.get<std::string>();
    return name == "auto" ? Dim::AUTO() : Dim(name);
  }
  if (!spec.is_object() || !spec.contains("name") || !spec["name"].is_string())
    fail(fmt::format("{} must be a name, \"auto\", null or {{\"name\", \"min\", \"max\"}}, got {}",
                     where, describe(spec)));
  for (const auto& [key, value] : spec.items())
    if (key != "name" && key != "min" && key != "max")
      fail(fmt::format("{}: unknown field '{}'", where, key));
  return Dim(spec["name"].get<std::string>(), bound(spec, "min", where), bound(spec, "max", where));
}

DynamicShapes shapes_of(const Json& json) {
  if (!json.is_object()) fail("dynamic_shapes must be an object of inputs, got " + describe(json));
  DynamicShapes shapes;
  for (const auto& [input, axes] : json.items()) {
    if (!axes.is_object())
      fail(fmt::format("dynamic_shapes of '{}' must be an object of axes, got {}", input,
                       describe(axes)));
    auto& entry = shapes[input];
    for (const auto& [axis, spec] : axes.items()) {
      if (axis.empty() || axis.size() > 2 ||
          axis.find_first_not_of("0123456789") != std::string::npos)
        fail(fmt::format("dynamic_shapes of '{}': '{}' is not an axis", input, axis));
      if (const auto dim = dim_of(spec, fmt::format("dynamic_shapes of '{}' axis {}", input, axis)))
        entry[std::stoll(axis)] = *dim;
    }
  }
  return shapes;
}

}  // namespace

DynamicShapes dynamic_shapes_from_json(const std::string& text) {
  try {
    return shapes_of(parse_json(text, "dynamic_shapes"));
  } catch (const Error& error) {
    if (error.kind() == kInvalid) throw Error(kUsage, error.what());
    throw;
  }
}

std::vector<std::string> available_formats() {
  return {"onnx", "dynamo", "openvino", "executorch"};
}

std::string OnnxConfig::to_json_string() const {
  Json json = Json::object();
  json["dynamic"] = dynamic;
  json["dynamic_shapes"] = shapes_json(dynamic_shapes);
  json["export_format"] = export_format();
  if (io_names != IoNames::kTransformers) json["io_names"] = io_names_text(io_names);
  json["opset_version"] = opset_version ? Json(*opset_version) : Json(nullptr);
  json["optimize"] = optimize;
  json["ort_fusions"] = nullptr;
  json["prefer_deferred_runtime_asserts_over_guards"] = prefer_deferred_runtime_asserts_over_guards;
  json["strict"] = strict;
  return json.dump();
}

std::string DynamoConfig::to_json_string() const {
  Json json = Json::object();
  json["dynamic"] = dynamic;
  json["dynamic_shapes"] = shapes_json(dynamic_shapes);
  json["export_format"] = export_format();
  json["prefer_deferred_runtime_asserts_over_guards"] = prefer_deferred_runtime_asserts_over_guards;
  json["strict"] = strict;
  return json.dump();
}

std::string OpenVINOConfig::to_json_string() const {
  Json json = Json::object();
  json["compress_to_fp16"] = compress_to_fp16;
  json["dynamic"] = dynamic;
  json["dynamic_shapes"] = shapes_json(dynamic_shapes);
  json["export_format"] = export_format();
  json["prefer_deferred_runtime_asserts_over_guards"] = prefer_deferred_runtime_asserts_over_guards;
  json["stateful"] = stateful;
  json["strict"] = strict;
  return json.dump();
}

std::string ExecutorchConfig::to_json_string() const {
  Json json = Json::object();
  json["alloc_graph_input"] = alloc_graph_input;
  json["alloc_graph_output"] = alloc_graph_output;
  json["alloc_mutable_buffers"] = alloc_mutable_buffers;
  json["backend"] = backend;
  json["dynamic"] = dynamic;
  json["dynamic_shapes"] = shapes_json(dynamic_shapes);
  json["export_format"] = export_format();
  if (llm_slots) json["llm_slots"] = *llm_slots;
  json["prefer_deferred_runtime_asserts_over_guards"] = prefer_deferred_runtime_asserts_over_guards;
  if (single_file) json["single_file"] = true;
  json["strict"] = strict;
  return json.dump();
}

namespace {

bool flag_of(const std::string& key, const Json& value) {
  if (!value.is_boolean())
    fail(fmt::format("'{}' must be true or false, got {}", key, describe(value)));
  return value.get<bool>();
}

/// A field that every format has, or that none supports yet. False for others.
bool read_common(ExportConfig& config, const std::string& key, const Json& value) {
  if (key == "export_format") return true;
  if (key == "dynamic") config.dynamic = flag_of(key, value);
  else if (key == "strict") config.strict = flag_of(key, value);
  else if (key == "prefer_deferred_runtime_asserts_over_guards")
    config.prefer_deferred_runtime_asserts_over_guards = flag_of(key, value);
  else if (key == "dynamic_shapes") {
    if (!value.is_null()) config.dynamic_shapes = shapes_of(value);
  } else if (key == "quantizer") {
    if (!value.is_null())
      throw Error(kUnsupported, "[config] 'quantizer' is not supported by this version");
  } else {
    return false;
  }
  return true;
}

bool read_onnx(OnnxConfig& config, const std::string& key, const Json& value) {
  if (key == "optimize") {
    config.optimize = flag_of(key, value);
  } else if (key == "opset_version") {
    if (value.is_null()) return true;
    if (!value.is_number_integer())
      fail("'opset_version' must be an integer, got " + describe(value));
    config.opset_version = value.get<int64_t>();
  } else if (key == "io_names") {
    config.io_names = io_names_of(value);
  } else if (key == "ort_fusions") {
    if (!value.is_null())
      throw Error(kUnsupported, "[config] 'ort_fusions' is not supported by this version");
  } else {
    return false;
  }
  return true;
}

bool read_openvino(OpenVINOConfig& config, const std::string& key, const Json& value) {
  if (key == "compress_to_fp16") config.compress_to_fp16 = flag_of(key, value);
  else if (key == "stateful") config.stateful = flag_of(key, value);
  else return false;
  return true;
}

bool read_executorch(ExecutorchConfig& config, const std::string& key, const Json& value) {
  if (key == "alloc_graph_input") config.alloc_graph_input = flag_of(key, value);
  else if (key == "alloc_graph_output") config.alloc_graph_output = flag_of(key, value);
  else if (key == "alloc_mutable_buffers") config.alloc_mutable_buffers = flag_of(key, value);
  else if (key == "single_file") config.single_file = flag_of(key, value);
  else if (key == "llm_slots") {
    if (value.is_null()) return true;
    if (!value.is_number_integer() || value < 0)
      fail("'llm_slots' must be a number of slots, got " + describe(value));
    config.llm_slots = value.get<int64_t>();
  } else if (key != "backend") return false;
  else if (!value.is_string()) fail("'backend' must be a string, got " + describe(value));
  else config.backend = value.get<std::string>();
  return true;
}

}  // namespace

std::unique_ptr<ExportConfig> AutoExportConfig::from_dict(const std::string& text) {
  const Json json = parse_json(text, "the export configuration");
  if (!json.is_object() || !json.contains("export_format") || !json["export_format"].is_string())
    fail("the export configuration must be an object with a string 'export_format'");
  const auto format = json["export_format"].get<std::string>();
  std::unique_ptr<ExportConfig> config;
  if (format == "onnx") config = std::make_unique<OnnxConfig>();
  else if (format == "dynamo") config = std::make_unique<DynamoConfig>();
  else if (format == "openvino") config = std::make_unique<OpenVINOConfig>();
  else if (format == "executorch") config = std::make_unique<ExecutorchConfig>();
  else
    throw Error(kUnsupported,
                fmt::format("[config] export_format '{}' is not built in; available: {}", format,
                            fmt::join(available_formats(), ", ")));
  auto* onnx = dynamic_cast<OnnxConfig*>(config.get());
  auto* openvino = dynamic_cast<OpenVINOConfig*>(config.get());
  auto* executorch = dynamic_cast<ExecutorchConfig*>(config.get());
  for (const auto& [key, value] : json.items()) {
    if (read_common(*config, key, value)) continue;
    if (onnx != nullptr && read_onnx(*onnx, key, value)) continue;
    if (openvino != nullptr && read_openvino(*openvino, key, value)) continue;
    if (executorch != nullptr && read_executorch(*executorch, key, value)) continue;
    fail(fmt::format("unknown field '{}' for format {}", key, format));
  }
  return config;
}

}  // namespace slipway

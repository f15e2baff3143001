// Names of an export's files, and writing export.json.
#include "export/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"

namespace slipway {
namespace {

struct Format {
  const char* name;
  const char* prefix;  ///< of a component's file
  const char* suffix;
  const char* companion;  ///< what a companion file ends with, empty where there is none
  bool replaces_suffix;   ///< whether the companion's ending takes the suffix's place
};

constexpr std::array<Format, 4> kFormats = {{
    {"dynamo", "", ".pt2", "", false},
    {"executorch", "", ".pte", "", false},
    {"onnx", "", ".onnx", ".data", false},
    {"openvino", "openvino_", ".xml", ".bin", true},
}};

const Format& format_named(std::string_view name) {
  for (const Format& format : kFormats)
    if (name == format.name) return format;
  throw Error(kUnsupported, fmt::format("[export] unknown export format {}, need one of {}",
                                        quote(name), fmt::join(export_formats(), ", ")));
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const ScalarConstant& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) return nullptr;
        else return v;
      },
      value);
}

Json to_json(const TracedKwarg& kwarg) {
  switch (kwarg.kind) {
    case TracedKwarg::Kind::kTensor:
      return {{"rank", kwarg.shape.size()}, {"shape", kwarg.shape}, {"dtype", kwarg.dtype}};
    case TracedKwarg::Kind::kMapping: {
      Json leaves = Json::object();
      for (const auto& [name, leaf] : kwarg.leaves) leaves[name] = to_json(leaf);
      return {{"leaves", std::move(leaves)}};
    }
    case TracedKwarg::Kind::kContainer:
      return {{"container", kwarg.container}};
  }
  SLIPWAY_ASSERT(!"unknown kind of keyword argument");
}

template <class T>
Json to_object(const std::vector<std::pair<std::string, T>>& items) {
  Json object = Json::object();
  for (const auto& [key, value] : items) {
    if constexpr (std::is_same_v<T, std::string>) object[key] = value;
    else object[key] = to_json(value);
  }
  return object;
}

Json to_json(const ExportMetadata& m) {
  Json out_constants = Json::array();
  for (const auto& [leaf, value] : m.out_constants)
    out_constants.push_back(Json::array({leaf, to_json(value)}));
  return {{"architecture", or_null(m.architecture)},
          {"packages", to_object(m.packages)},
          {"export_config", parse_json(m.export_config, "export_config")},
          {"export_dtype", or_null(m.export_dtype)},
          {"export_device", or_null(m.export_device)},
          {"kwargs", to_object(m.kwargs)},
          {"in_spec", or_null(m.in_spec)},
          {"out_spec", or_null(m.out_spec)},
          {"in_constants", to_object(m.in_constants)},
          {"out_constants", std::move(out_constants)}};
}

}  // namespace

TracedKwarg TracedKwarg::tensor(Shape shape, std::string dtype) {
  return {Kind::kTensor, std::move(shape), std::move(dtype), {}, {}};
}
TracedKwarg TracedKwarg::mapping(std::vector<std::pair<std::string, TracedKwarg>> leaves) {
  return {Kind::kMapping, {}, {}, std::move(leaves), {}};
}
TracedKwarg TracedKwarg::of_class(std::string container) {
  return {Kind::kContainer, {}, {}, {}, std::move(container)};
}

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Format& format : kFormats) list.push_back(format.name);
    return list;
  }();
  return names;
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

std::string program_file(std::string_view format, std::string_view component) {
  const Format& f = format_named(format);
  return fmt::format("{}{}{}", f.prefix, component, f.suffix);
}

std::vector<std::string> program_files(std::string_view format, const std::string& file) {
  const Format& f = format_named(format);
  std::vector<std::string> files = {file};
  const std::string_view companion = f.companion, suffix = f.suffix;
  if (companion.empty()) return files;
  std::string stem = file;
  if (f.replaces_suffix && stem.size() > suffix.size() &&
      std::string_view(stem).substr(stem.size() - suffix.size()) == suffix)
    stem.resize(stem.size() - suffix.size());
  files.push_back(stem.append(companion));
  return files;
}

std::string manifest_text(const Manifest& manifest) {
  Json components = Json::object();
  for (const ManifestComponent& c : manifest.components) {
    SLIPWAY_ASSERT(is_plain_file_name(c.name) && is_plain_file_name(c.file));
    SLIPWAY_ASSERT(!components.contains(c.name));
    Json entry = {{"file", c.file}};
    if (!c.method.empty()) entry["method"] = c.method;
    entry["metadata"] = to_json(c.metadata);
    components[c.name] = std::move(entry);
  }
  return python_json_indented({{"schema_version", manifest.schema_version},
                               {"export_format", manifest.export_format},
                               {"components", std::move(components)}}) +
         "\n";
}

}  // namespace slipway

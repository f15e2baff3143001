// Finding the graph in a directory, whoever laid it out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/output.h"
#include "export/layout.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOpenvinoModel = "openvino_model.xml";
constexpr const char* kExecutorchModel = "model.pte";

struct Place {
  Layout layout;
  std::string file;  ///< below the directory
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

const Json* member(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto at = json.find(key);
  return at == json.end() || at->is_null() ? nullptr : &*at;
}

/// A path below the directory, whose parts are plain names.
std::string checked_path(const std::string& name, const fs::path& source) {
  const fs::path path(name);
  const bool inside = !name.empty() && path.is_relative() &&
                      std::all_of(path.begin(), path.end(), [](const fs::path& part) {
                        return is_plain_file_name(part.string());
                      });
  if (!inside)
    throw Error(kInvalid, fmt::format("[{}] got the file name {}, need a file inside the folder",
                                      display(source), quote(name)));
  return name;
}

std::string genai_file(const fs::path& directory) {
  const fs::path source = directory / kGenaiConfig;
  const Json config = parse_json_file(source);
  const Json* model = member(config, "model");
  const Json* decoder = model != nullptr ? member(*model, "decoder") : nullptr;
  const Json* file = decoder != nullptr ? member(*decoder, "filename") : nullptr;
  if (file == nullptr || !file->is_string())
    throw Error(kInvalid,
                fmt::format("[{}] model.decoder.filename is no text, need the name of the graph",
                            display(source)));
  return checked_path(file->get<std::string>(), source);
}

/// The endings that transformers.js gives the files of a dtype.
constexpr std::array<std::pair<const char*, const char*>, 8> kJsFiles = {{
    {"fp32", ""},
    {"fp16", "_fp16"},
    {"q8", "_quantized"},
    {"int8", "_int8"},
    {"uint8", "_uint8"},
    {"q4", "_q4"},
    {"q4f16", "_q4f16"},
    {"bnb4", "_bnb4"},
}};

/// The graph in onnx/ for the dtype that config.json states, else the most exact one.
std::optional<std::string> js_file(const fs::path& directory) {
  std::string wanted;
  if (is_file(directory / "config.json")) {
    const Json config = parse_json_file(directory / "config.json");
    const Json* js = member(config, "transformers.js_config");
    const Json* dtype = js != nullptr ? member(*js, "dtype") : nullptr;
    if (dtype != nullptr && dtype->is_string()) wanted = dtype->get<std::string>();
  }
  std::optional<std::string> found;
  for (const auto& [dtype, ending] : kJsFiles) {
    const std::string file = fmt::format("onnx/model{}.onnx", ending);
    if (!is_file(directory / file)) continue;
    if (dtype == wanted) return file;
    if (!found) found = file;
  }
  return found;
}

std::optional<Place> find_place(const fs::path& directory) {
  if (is_file(directory / kGenaiConfig)) return Place{Layout::kGenai, genai_file(directory)};
  if (is_file(directory / "model.onnx")) return Place{Layout::kOptimum, "model.onnx"};
  if (is_file(directory / kOpenvinoModel)) return Place{Layout::kOpenvinoGenai, kOpenvinoModel};
  if (is_file(directory / kExecutorchModel)) return Place{Layout::kExecutorchLlm, kExecutorchModel};
  if (const auto file = js_file(directory)) return Place{Layout::kTransformersJs, *file};
  return std::nullopt;
}

/// What config.json tells about the graph beside it.
ExportMetadata metadata_beside(const fs::path& directory) {
  ExportMetadata metadata;
  if (!is_file(directory / "config.json")) return metadata;
  const Config config = Config::from_file(directory / "config.json");
  if (const std::string name = config.architecture(); !name.empty()) metadata.architecture = name;
  if (config.has("dtype") || config.has("torch_dtype")) metadata.export_dtype = config.dtype();
  return metadata;
}

}  // namespace

bool has_layout(const fs::path& directory) { return find_place(directory).has_value(); }

ExportListing list_export(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw Error(kInvalid,
                fmt::format("[{}] {}, need the folder of an export", display(directory),
                            fs::exists(directory, error) ? "is not a folder" : "does not exist"));
  if (is_file(directory / kManifestFile)) return {Layout::kSlipway, read_manifest(directory)};
  const std::optional<Place> place = find_place(directory);
  if (!place)
    throw Error(kInvalid,
                fmt::format("[{}] is not an export: it has no {}, and no {}, model.onnx, {}, {} "
                            "or onnx/model.onnx of another tool",
                            directory.string(), kManifestFile, kGenaiConfig, kOpenvinoModel,
                            kExecutorchModel));
  if (!is_file(directory / place->file))
    throw Error(kInvalid, fmt::format("[{}] names the graph {}, which is missing",
                                      display(directory / kGenaiConfig), place->file));
  ExportListing listing{place->layout, {}};
  listing.manifest.export_format = layout_format(place->layout);
  listing.manifest.components.push_back({"model", place->file, metadata_beside(directory)});
  return listing;
}

}  // namespace slipway

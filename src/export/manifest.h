// export.json: which file each graph of an export is, and what was recorded about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "slipway/metadata.h"

namespace slipway {

inline constexpr const char* kManifestFile = "export.json";
inline constexpr int64_t kManifestSchema = 1;

struct ManifestComponent {
  std::string name;  ///< "model", "prefill", "decode", ...
  std::string file;  ///< a plain name inside the export's directory; of a layout a path below it
  ExportMetadata metadata;
  std::string method{};  ///< of ExecuTorch, where one file holds several components

  bool operator==(const ManifestComponent&) const = default;
};

struct Manifest {
  int64_t schema_version = kManifestSchema;
  std::string export_format;  ///< one of export_formats()
  std::vector<ManifestComponent> components;

  bool operator==(const Manifest&) const = default;
};

/// "dynamo", "executorch", "onnx", "openvino".
const std::vector<std::string>& export_formats();

/// Whether `name` can only be a file of the directory it is looked up in: no separators, no
/// "." or "..", no control characters, at most 255 bytes.
bool is_plain_file_name(std::string_view name);

/// A component's file as the reference names it: "model.onnx", "openvino_model.xml", ...
std::string program_file(std::string_view format, std::string_view component);

/// The files of a component saved as `file`: itself and what the format keeps beside it (the
/// external data of ONNX, the weights of OpenVINO). The reference's loader wants all of them to
/// exist for ONNX, even where the graph refers to no external data.
std::vector<std::string> program_files(std::string_view format, const std::string& file);

/// The contents of export.json, byte for byte as the reference lays it out. Asserts that names are
/// plain.
std::string manifest_text(const Manifest& manifest);

/// Reads the contents of an export.json. Unknown fields are skipped, a newer schema is a warning.
/// Throws Error{kInvalid} that names `source` and the field, Error{kUnsupported} for an unknown
/// format.
Manifest parse_manifest(std::string_view text, const std::string& source);

/// Reads export.json of a directory. Throws Error{kInvalid} where there is none.
Manifest read_manifest(const std::filesystem::path& directory);

}  // namespace slipway

// What `slipway inspect` can look at; each gives a JSON report and text for people.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace slipway::cli {

struct Report {
  Json json;
  std::string text;
};

/// A folder with config.json or a .gguf file: sizes, dtypes, and the audit against the model type
/// that the config names. A failed audit is part of the report.
Report inspect_checkpoint(const std::filesystem::path& path);
/// A folder with export.json. Needs no runtime.
Report inspect_export(const std::filesystem::path& directory);
/// A file of an export format by itself: weights beside it may be missing.
Report inspect_program(const std::filesystem::path& file, const std::string& format);
Report inspect_safetensors(const std::filesystem::path& file);
/// A graph in text form: parsed, verified and printed.
Report inspect_graph(const std::filesystem::path& file);

}  // namespace slipway::cli

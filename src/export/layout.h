// Directories of exports: our own, and those that other tools load.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "export/impl.h"
#include "export/manifest.h"

namespace slipway {

inline constexpr const char* kGenaiConfig = "genai_config.json";

/// "genai", "optimum", "transformers.js"; "slipway" for our own.
std::string_view layout_name(Layout layout);
/// Throws Error{kUsage} naming the layouts for another word.
Layout layout_named(std::string_view name);

/// Where a layout wants the graph of an export.
struct LayoutPlan {
  std::string folder;  ///< below the export's directory; empty: the directory itself
  std::string stem;    ///< of the graph: "model", "model_fp16"
  int64_t max_data_bytes = INT64_MAX;  ///< of each data file

  std::string graph_file() const { return stem + ".onnx"; }
  std::string data_file() const { return graph_file() + "_data"; }
};

/// Checks that the tools behind a layout can read the export's graph, and says where it goes.
/// Throws Error{kUsage} or Error{kUnsupported} saying what they need.
LayoutPlan plan_layout(const ExportedModel::Impl& exported, Layout layout);

/// Writes the graph, its data and the JSON files that are particular to the layout, config.json
/// among them. Files that every directory has, such as the tokenizer, are the caller's.
void write_layout(const ExportedModel::Impl& exported, Layout layout,
                  const std::filesystem::path& folder);

/// The text of genai_config.json for a graph file. Throws Error{kInvalid} naming what config.json
/// and generation_config.json lack.
std::string genai_config(const ExportedModel::Impl& exported, const std::string& graph_file);

/// generation_config.json as it travels with an export; null where there is none.
Json generation_config_of(const ExportedModel::Impl& exported);

/// What a directory holds: export.json, or one component "model" in the place where a layout has
/// it. Files are relative to the directory and inside it.
struct ExportListing {
  Layout layout = Layout::kSlipway;
  Manifest manifest;
};

/// Reads export.json or, where there is none, finds the graph that genai_config.json names,
/// model.onnx, or the one in onnx/ for the dtype that config.json states. Throws Error{kInvalid}
/// for a directory that has none of them or does not exist.
ExportListing list_export(const std::filesystem::path& directory);
/// Whether list_export() would find a graph without export.json.
bool has_layout(const std::filesystem::path& directory);
/// Whether a folder is a checkpoint's own: it has weights that are none of a graph.
bool holds_weights(const std::filesystem::path& directory);

}  // namespace slipway

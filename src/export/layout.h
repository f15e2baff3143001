// Directories of exports: our own, and those that other tools load.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "export/impl.h"
#include "export/manifest.h"

namespace slipway {

inline constexpr const char* kGenaiConfig = "genai_config.json";
/// What openvino-genai has beside its graph.
inline constexpr std::array<const char*, 4> kOpenvinoTokenizerFiles = {
    "openvino_tokenizer.xml", "openvino_tokenizer.bin", "openvino_detokenizer.xml",
    "openvino_detokenizer.bin"};

/// "genai", "optimum", "transformers.js", "openvino-genai", "executorch-llm"; "slipway" for our
/// own.
std::string_view layout_name(Layout layout);
/// The format of the graphs that a layout holds; "onnx" for our own, which holds any.
std::string_view layout_format(Layout layout);
/// Throws Error{kUsage} naming the layouts for another word.
Layout layout_named(std::string_view name);

/// Checks that the tools behind a layout can read the export's graph. Throws Error{kUsage} or
/// Error{kUnsupported} saying what they need.
void check_layout(const ExportedModel::Impl& exported, Layout layout);

/// Writes the graph, its data and the files that are particular to the layout, config.json
/// among them. Files that every directory has, such as the tokenizer's, are the caller's, and in
/// the folder already.
void write_layout(const ExportedModel::Impl& exported, Layout layout,
                  const std::filesystem::path& folder);

/// Checks an OpenVINO graph for openvino-genai: caches are variables, sizes are free. Throws as
/// check_layout().
void check_openvino_layout(const ExportedModel::Impl& exported);
/// Writes openvino_tokenizer and openvino_detokenizer from the tokenizer files of the folder. What
/// OpenVINO's string ops cannot do is a warning, and the two are left out. Throws Error{kInvalid}
/// for tokenizer files that are malformed.
void write_openvino_tokenizer(const std::filesystem::path& folder, const Graph& graph);

/// The text of genai_config.json for a graph file. Throws Error{kInvalid} naming what config.json
/// and generation_config.json lack.
std::string genai_config(const ExportedModel::Impl& exported, const std::string& graph_file);

/// generation_config.json as it travels with an export; null where there is none.
Json generation_config_of(const std::vector<CompanionFile>& companions);

/// What a directory holds: export.json, or one component "model" in the place where a layout has
/// it. Files are relative to the directory and inside it.
struct ExportListing {
  Layout layout = Layout::kSlipway;
  Manifest manifest;
};

/// Reads export.json or, where there is none, finds the graph that genai_config.json names,
/// model.onnx, openvino_model.xml, model.pte, or the one in onnx/ for the dtype that config.json
/// states. Throws Error{kInvalid} for a directory that has none of them or does not exist.
ExportListing list_export(const std::filesystem::path& directory);
/// Whether list_export() would find a graph without export.json.
bool has_layout(const std::filesystem::path& directory);
/// Whether a folder is a checkpoint's own: it has weights that are none of a graph.
bool holds_weights(const std::filesystem::path& directory);

}  // namespace slipway

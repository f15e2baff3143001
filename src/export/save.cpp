// Writing an export's directory.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "backends/onnx/write.h"
#include "base/mapped_file.h"
#include "base/output.h"
#include "base/parallel.h"
#include "checkpoint/companions.h"
#include "export/dry_run.h"
#include "export/impl.h"
#include "export/layout.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

void copy_contents(const fs::path& from, const fs::path& to) {
  const auto source = MappedFile::open(from);
  OutputFile out(to);
  constexpr size_t kPiece = size_t{8} << 20;
  const ByteSpan bytes = source->bytes();
  for (size_t at = 0; at < bytes.size(); at += kPiece)
    out.append(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
  out.close();
}

void write_text(const fs::path& path, std::string_view text) {
  OutputFile out(path);
  out.append(text);
  out.close();
}

/// The file that holds the weights of all components: the first one's own, so that whoever copies
/// the components' files by name has it.
std::string data_name(const ExportedModel::Impl& exported) {
  return onnx::data_file_name(exported.components.front().first);
}

/// A component's files below the export's directory: the graph, its data, what the format expects.
std::set<std::string> files_of(std::string_view format, const std::string& file,
                               const FileSummary& summary) {
  const std::vector<std::string> expected = program_files(format, file);
  std::set<std::string> files(expected.begin(), expected.end());
  for (const std::string& data : summary.external_files)
    files.insert((fs::path(file).parent_path() / data).string());
  return files;
}

void write_component(const ExportedModel::Impl& exported, const std::string& name,
                     const Program& program, const fs::path& folder, SharedWeights& shared) {
  const Program::Impl& impl = program.impl();
  if (impl.file) {
    for (const std::string& file : files_of(exported.format, impl.file_place.file, *impl.file))
      if (fs::exists(exported.directory / file) && !fs::exists(folder / file)) {
        fs::create_directories((folder / file).parent_path());
        copy_contents(exported.directory / file, folder / file);
      }
    return;
  }
  impl.fresh->write(folder, name, shared);
  // The reference's loader wants a data file for each component, though one holds all weights.
  const std::vector<std::string> files =
      program_files(exported.format, impl.fresh->place(name).file);
  for (const std::string& file : files)
    if (!fs::exists(folder / file)) write_text(folder / file, "");
}

void check_own_layout(const ExportedModel::Impl& exported) {
  for (const auto& [name, component] : exported.components)
    if (const auto& fresh = component.program.impl().fresh)
      if (fresh->layout() != Layout::kSlipway)
        throw Error(kUsage, fmt::format("[layout] the program of '{}' is one for {}; save it so",
                                        name, layout_name(fresh->layout())));
}

/// The components as they are, and export.json where they have one.
void write_components(const ExportedModel::Impl& exported, const fs::path& folder) {
  Manifest manifest;
  manifest.export_format = exported.format;
  SharedWeights shared;
  shared.name = data_name(exported);
  for (const auto& [name, component] : exported.components) {
    try {
      write_component(exported, name, component.program, folder, shared);
    } catch (const Error& error) {
      throw error.with_context(fmt::format("component '{}'", name));
    }
    const ProgramPlace place = component.program.impl().place(name);
    manifest.components.push_back({name, place.file, component.metadata, place.method});
  }
  if (shared.data.size() > 0) shared.data.write(folder / shared.name);
  if (exported.layout == Layout::kSlipway)
    return write_text(folder / kManifestFile, manifest_text(manifest));
  std::vector<std::string> own = {kGenaiConfig};
  own.insert(own.end(), kOpenvinoTokenizerFiles.begin(), kOpenvinoTokenizerFiles.end());
  for (const std::string& file : own)
    if (fs::exists(exported.directory / file))
      copy_contents(exported.directory / file, folder / file);
}

/// The names that an older export at this place occupies.
std::vector<std::string> files_of_older(const fs::path& directory) {
  std::vector<std::string> files = {kManifestFile};
  try {
    if (!fs::exists(directory / kManifestFile) && !has_layout(directory)) return files;
    const auto [layout, manifest] = list_export(directory);
    for (const ManifestComponent& component : manifest.components) {
      std::vector<std::string> named = program_files(manifest.export_format, component.file);
      if (layout != Layout::kSlipway) {
        const FileSummary summary = outline_of(manifest.export_format, directory / component.file);
        if (!summary.producer.starts_with("slipway")) return files;  // another tool's: the user's
        const auto all = files_of(manifest.export_format, component.file, summary);
        named.assign(all.begin(), all.end());
        named.emplace_back(kGenaiConfig);
        named.insert(named.end(), kOpenvinoTokenizerFiles.begin(), kOpenvinoTokenizerFiles.end());
      }
      files.insert(files.end(), named.begin(), named.end());
    }
    // Tokenizer and settings of another export must not stay beside the new graph. In a folder with
    // weights they are the checkpoint's.
    if (!holds_weights(directory))
      for (const CompanionFile& companion : find_companions(directory))
        files.push_back(companion.name);
  } catch (const Error&) {
    // Not an export that can be read: its files are nobody's but the user's, and stay.
  }
  return files;
}

}  // namespace

bool holds_weights(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".safetensors" || extension == ".gguf") return true;
    // Those of an OpenVINO graph lie beside it.
    fs::path graph = entry.path();
    if (extension == ".bin" && !fs::exists(graph.replace_extension(".xml"))) return true;
  }
  return false;
}

fs::path Program::save(const fs::path& folder, const std::string& component) const {
  if (!impl_->fresh) throw Error(kUsage, "[export] the program was loaded from a file; copy that");
  fs::create_directories(folder);
  SharedWeights own;
  own.name = onnx::data_file_name(component);
  const FreshProgram& program = impl_->fresh->alone();
  program.write(folder, component, own);
  if (own.data.size() > 0) own.data.write(folder / own.name);
  return folder / program.place(component).file;
}

void ExportedModel::save_pretrained(const fs::path& directory, const SaveOptions& options) const {
  const bool other = options.layout != Layout::kSlipway && options.layout != impl_->layout;
  if (other) check_layout(*impl_, options.layout);  // what cannot be is refused before it is begun
  else check_own_layout(*impl_);
  StagedDirectory staged(directory);
  for (const CompanionFile& companion : impl_->companions) {
    fs::create_directories((staged.path() / companion.name).parent_path());
    if (const auto* path = std::get_if<fs::path>(&companion.source))
      copy_contents(*path, staged.path() / companion.name);
    else write_text(staged.path() / companion.name, std::get<std::string>(companion.source));
  }
  if (!impl_->config.empty()) write_text(staged.path() / "config.json", impl_->config);
  if (other) write_layout(*impl_, options.layout, staged.path());
  else write_components(*impl_, staged.path());
  if (options.before_commit) options.before_commit(staged.path());
  const std::vector<std::string> replaced = files_of_older(directory);
  staged.commit(replaced);
}

DryRun dry_run(const ExportedModel& exported) {
  DryRun result;
  constexpr int64_t kBase = int64_t{16} << 20, kPiece = int64_t{8} << 20;
  int64_t pieces = 0;
  SharedWeights shared;
  for (const auto& [name, component] : exported.components()) {
    const Program::Impl& impl = component.program.impl();
    if (impl.file) throw Error(kUsage, "[export] a loaded export has nothing left to write");
    const ProgramSizes sizes = impl.fresh->measure(name, shared);
    result.model_bytes += sizes.graph_bytes;
    result.data_bytes =
        shared.data.size() > 0 ? sizes.weight_bytes : result.data_bytes + sizes.weight_bytes;
    result.nodes += sizes.nodes;
    for (const Node* weight : impl.fresh->graph().weights())
      pieces = std::max(pieces, std::min(weight->data->nbytes(),
                                         std::max(kPiece, weight->data->granularity() *
                                                              itemsize(weight->data->dtype()))));
  }
  result.peak_anonymous_bytes = kBase + 4 * result.model_bytes + 2 * num_threads() * pieces;
  return result;
}

}  // namespace slipway

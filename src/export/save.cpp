// Writing an export's directory.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/mapped_file.h"
#include "base/output.h"
#include "base/parallel.h"
#include "checkpoint/companions.h"
#include "export/dry_run.h"
#include "export/impl.h"
#include "export/manifest.h"

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

void write_component(const ExportedModel::Impl& exported, const std::string& name,
                     const Program& program, const fs::path& folder, onnx::DataFile& data) {
  const Program::Impl& impl = program.impl();
  const std::vector<std::string> files =
      program_files(exported.format, program_file(exported.format, name));
  if (impl.file) {
    for (const std::string& file : files)
      if (fs::exists(exported.directory / file))
        copy_contents(exported.directory / file, folder / file);
    return;
  }
  onnx::WriteOptions options = impl.write_options;
  options.data_name = data_name(exported);
  onnx::write_graph(*impl.graph, impl.ranges, folder, name, options, data);
  // The reference's loader wants a data file for each component, though one holds all weights.
  for (const std::string& file : files)
    if (!fs::exists(folder / file)) write_text(folder / file, "");
}

/// Whether a folder is a checkpoint's own.
bool holds_weights(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".safetensors" || extension == ".gguf" || extension == ".bin") return true;
  }
  return false;
}

/// The names that an older export at this place occupies.
std::vector<std::string> files_of_older(const fs::path& directory) {
  std::vector<std::string> files;
  if (!fs::exists(directory / kManifestFile)) return files;
  try {
    const Manifest manifest = read_manifest(directory);
    for (const ManifestComponent& component : manifest.components)
      for (const std::string& file : program_files(manifest.export_format, component.file))
        files.push_back(file);
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

void ExportedModel::save_pretrained(const fs::path& directory, const SaveOptions& options) const {
  StagedDirectory staged(directory);
  Manifest manifest;
  manifest.export_format = impl_->format;
  onnx::DataFile data;
  for (const auto& [name, component] : impl_->components) {
    try {
      write_component(*impl_, name, component.program, staged.path(), data);
    } catch (const Error& error) {
      throw error.with_context(fmt::format("component '{}'", name));
    }
    manifest.components.push_back({name, program_file(impl_->format, name), component.metadata});
  }
  if (data.size() > 0) data.write(staged.path() / data_name(*impl_));
  for (const CompanionFile& companion : impl_->companions) {
    fs::create_directories((staged.path() / companion.name).parent_path());
    if (const auto* path = std::get_if<fs::path>(&companion.source))
      copy_contents(*path, staged.path() / companion.name);
    else write_text(staged.path() / companion.name, std::get<std::string>(companion.source));
  }
  if (!impl_->config.empty()) write_text(staged.path() / "config.json", impl_->config);
  write_text(staged.path() / kManifestFile, manifest_text(manifest));
  if (options.before_commit) options.before_commit(staged.path());
  const std::vector<std::string> replaced = files_of_older(directory);
  staged.commit(replaced);
}

DryRun dry_run(const ExportedModel& exported) {
  DryRun result;
  constexpr int64_t kBase = int64_t{16} << 20, kPiece = int64_t{8} << 20;
  int64_t pieces = 0;
  onnx::DataFile data;
  for (const auto& [name, component] : exported.components()) {
    const Program::Impl& impl = component.program.impl();
    if (impl.file) throw Error(kUsage, "[export] a loaded export has nothing left to write");
    const onnx::WriteSummary sizes =
        onnx::measure(*impl.graph, impl.ranges, name, impl.write_options, data);
    result.model_bytes += sizes.model_bytes;
    result.data_bytes = sizes.data_bytes;
    result.nodes += sizes.nodes;
    for (const Node* weight : impl.graph->weights())
      pieces = std::max(pieces, std::min(weight->data->nbytes(),
                                         std::max(kPiece, weight->data->granularity() *
                                                              itemsize(weight->data->dtype()))));
  }
  result.peak_anonymous_bytes = kBase + 4 * result.model_bytes + 2 * num_threads() * pieces;
  return result;
}

}  // namespace slipway

// slipway inspect: what a file or folder holds.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fstream>

#include "base/output.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "export/layout.h"
#include "slipway/error.h"

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFooter = R"(
Examples:
  slipway inspect all-MiniLM-L6-v2/      a checkpoint: sizes, dtypes, tasks, and whether every
                                         weight that its model needs is there
  slipway inspect model.gguf
  slipway inspect out/                   an export: inputs, outputs, ops, what it was made with
  slipway inspect out/model.onnx
  slipway inspect out/model.pt2
  slipway inspect out/openvino_model.xml
  slipway inspect out/model.pte
  slipway inspect model.safetensors
  slipway inspect graph.txt              a graph in text form: checked and printed)";

bool starts_with(const fs::path& path, std::string_view magic) {
  std::ifstream file(path, std::ios::binary);
  std::string start(magic.size(), '\0');
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == magic;
}

Report inspect(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error(kInvalid, fmt::format("[inspect] {} does not exist", display(path)));
  if (fs::is_directory(path, error))
    return fs::exists(path / "export.json", error) || (!holds_weights(path) && has_layout(path))
               ? inspect_export(path)
               : inspect_checkpoint(path);
  constexpr std::pair<const char*, const char*> kPrograms[] = {
      {".onnx", "onnx"}, {".pt2", "dynamo"}, {".xml", "openvino"}, {".pte", "executorch"}};
  for (const auto& [extension, format] : kPrograms)
    if (path.extension() == extension) return inspect_program(path, format);
  if (path.extension() == ".safetensors") return inspect_safetensors(path);
  if (path.extension() == ".gguf" || starts_with(path, "GGUF")) return inspect_checkpoint(path);
  return inspect_graph(path);
}

}  // namespace

void add_inspect(CLI::App& app, Globals& globals) {
  CLI::App* sub = app.add_subcommand("inspect", "Show what a checkpoint, export or graph holds");
  sub->footer(kFooter);
  const auto path = std::make_shared<std::string>();
  sub->add_option("PATH", *path, "File or folder")->required();
  add_globals(*sub, globals);
  sub->callback([path, &globals] {
    const Report report = inspect(*path);
    if (globals.json) print_json(report.json);
    else print(report.text);
  });
}

}  // namespace slipway::cli

// Reports on exports, ONNX files and graphs in text form.
#include <fmt/format.h>

#include "backends/executorch/read.h"
#include "base/mapped_file.h"
#include "base/output.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "cli/leaves.h"
#include "export/impl.h"
#include "export/layout.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace slipway::cli {
namespace {

std::vector<LeafSpec> leaves(const std::vector<FileValue>& values) {
  std::vector<LeafSpec> list;
  for (const FileValue& value : values) list.push_back({value.name, value.dtype, value.dims});
  return list;
}

Report summary_report(const FileSummary& summary, std::string_view format) {
  Report report;
  Json opsets = Json::object();
  std::string text;
  for (const auto& [domain, version] : summary.opsets) {
    opsets[domain] = version;
    text += fmt::format(" {}{}", domain.empty() ? "" : domain + " ", version);
  }
  int64_t nodes = 0;
  std::string counts;
  for (const auto& [op, number] : summary.op_counts) {
    nodes += number;
    counts += fmt::format("    {} x {}\n", number, op);
  }
  report.json = {{"inputs", leaves_json(leaves(summary.inputs))},
                 {"outputs", leaves_json(leaves(summary.outputs))},
                 {"ir_version", summary.ir_version},
                 {"opsets", opsets},
                 {"producer", summary.producer},
                 {"initializers", summary.initializers},
                 {"external_files", summary.external_files},
                 {"op_counts", summary.op_counts},
                 {"metadata", summary.metadata}};
  report.text = fmt::format(
      "  {}{}, {} version {}, made by {}\n  inputs\n{}  outputs\n{}"
      "  {} nodes, {} initializers\n{}",
      format == "onnx"       ? "ONNX opset"
      : format == "dynamo"   ? "PyTorch ops"
      : format == "openvino" ? "OpenVINO ops"
                             : "ExecuTorch kernels",
      text, format == "onnx" || format == "openvino" ? "IR" : "schema", summary.ir_version,
      summary.producer, leaves_text(leaves(summary.inputs)), leaves_text(leaves(summary.outputs)),
      nodes, summary.initializers, counts);
  return report;
}

/// Replaces what a report says of one method by what there is of each, where there are several.
void report_methods(const std::filesystem::path& file, Report& report) {
  const executorch::Outline outline = executorch::read_outline(file);
  Json methods = Json::object();
  std::string text;
  for (const executorch::MethodOutline& method : outline.methods) {
    if (method.is_metadata()) continue;
    const Report one = summary_report(executorch::read_summary(file, method.name), "executorch");
    methods[method.name] = one.json;
    text += fmt::format("method {}\n{}", method.name, one.text);
  }
  if (methods.size() < 2) return;
  report.json["methods"] = std::move(methods);
  report.text = report.text.substr(0, report.text.find('\n') + 1) + text;
}

std::string read_text(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

}  // namespace

Report inspect_program(const std::filesystem::path& file, const std::string& format) {
  const std::map<std::string, std::pair<const char*, const char*>> kinds = {
      {"onnx", {"onnx", "ONNX model"}},
      {"dynamo", {"pt2", "PyTorch program"}},
      {"openvino", {"ir", "OpenVINO IR"}},
      {"executorch", {"pte", "ExecuTorch program"}}};
  const auto& [kind, what] = kinds.at(format);
  Report report = summary_report(outline_of(format, file), format);
  report.json["kind"] = kind;
  report.json["path"] = display(file);
  report.text = fmt::format("{} {}\n{}", what, display(file), report.text);
  if (format == "executorch") report_methods(file, report);
  return report;
}

Report inspect_export(const std::filesystem::path& directory) {
  const auto [layout, manifest] = list_export(directory);
  Report report;
  report.json = {{"kind", "export"},
                 {"path", display(directory)},
                 {"format", manifest.export_format},
                 {"layout", layout_name(layout)},
                 {"components", Json::object()}};
  report.text = fmt::format("{} export {}{}\n", manifest.export_format, display(directory),
                            layout == Layout::kSlipway
                                ? std::string()
                                : fmt::format(" in the layout of {}", layout_name(layout)));
  for (const ManifestComponent& component : manifest.components) {
    const ExportMetadata& metadata = component.metadata;
    Json packages = Json::object();
    std::string versions;
    for (const auto& [name, version] : metadata.packages) {
      packages[name] = version;
      versions += fmt::format("{}{} {}", versions.empty() ? "" : ", ", name, version);
    }
    const std::string architecture = metadata.architecture.value_or("");
    const std::string dtype = metadata.export_dtype.value_or("");
    Json row = {{"file", component.file},
                {"architecture", architecture},
                {"dtype", dtype},
                {"packages", packages},
                {"export_config", parse_json(metadata.export_config, kManifestFile)}};
    if (!component.method.empty()) row["method"] = component.method;
    report.text +=
        fmt::format("component {}: {}, {}{} {}\n", component.name, component.file,
                    component.method.empty() ? "" : fmt::format("method {}, ", component.method),
                    architecture, dtype);
    if (!versions.empty()) report.text += fmt::format("  made with {}\n", versions);
    const std::string& format = manifest.export_format;
    const Report file =
        summary_report(summary_of(format, directory / component.file, component.method), format);
    row.update(file.json);
    report.text += file.text;
    report.json["components"][component.name] = std::move(row);
  }
  return report;
}

Report inspect_graph(const std::filesystem::path& file) {
  const std::string where = display(file);
  std::unique_ptr<Graph> graph;
  try {
    graph = parse_graph(read_text(file));
    verify(*graph);
  } catch (const Error& error) {
    // The text is the user's: what verify() calls a fault of ours is one of the text here.
    const ErrorKind kind = error.kind() == kInternal ? kInvalid : error.kind();
    throw Error(kind,
                fmt::format("[inspect] {} read as a graph in text form: {}", where, error.what()));
  }
  Report report;
  std::map<std::string, int64_t> counts;
  for (const Node* node : graph->order())
    if (node->kind == NodeKind::kOp) ++counts[std::string(node->op->name())];
  report.text = print(*graph);
  report.json = {{"kind", "graph"}, {"path", where}, {"op_counts", counts}, {"text", report.text}};
  return report;
}

}  // namespace slipway::cli

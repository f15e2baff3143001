// Opens .pt2 files as a source of exports.
#include "export/torch_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "checkpoint/companions.h"
#include "export/manifest.h"
#include "ir/print.h"
#include "passes/pipeline.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// Spellings go first, so that rules see few ops; what they find makes room for others.
void raise_composites(Graph& graph) {
  PassContext context;
  Pipeline pipeline;
  pipeline.repeat({"expand_spellings", "canonicalize", "fold", "cse"});
  pipeline.repeat({"raise", "canonicalize", "fold", "cse"});
  pipeline.run(graph, context);
  for (const Reason& reason : context.reasons())
    log::debug(fmt::format("not raised: {} at {} ({}): {}", reason.rule, reason.scope, reason.op,
                           reason.message));
}

/// Ids that look up rows of a table must be rows: runners check that before the runtime sees them.
void find_value_ranges(ExportedProgram& program) {
  for (const Node* node : program.graph->order()) {
    if (node->kind != NodeKind::kOp || node->op->name() != "aten::embedding") continue;
    const Args a = node->arguments();
    const Node* ids = a.value(1).node();
    const Sym rows = a.value(0).dim(0);
    if (ids->kind != NodeKind::kInput || !rows.is_const()) continue;
    const auto [at, fresh] =
        program.value_ranges.emplace(ids->name, ValueRange{0, rows.value() - 1});
    if (!fresh) at->second.hi = std::min(at->second.hi, rows.value() - 1);
  }
}

dynamo::Imported import_raised(const dynamo::ProgramFile& file) {
  dynamo::Imported imported = dynamo::import_program(file);
  raise_composites(*imported.program.graph);
  find_value_ranges(imported.program);
  return imported;
}

std::string minimal_config(const ExportedProgram& program) {
  const Json config = {{"architectures", Json::array({program.architecture})},
                       {"dtype", torch_name(program.dtype)}};
  return config.dump(2) + "\n";
}

/// What the export.json beside a file records about it.
std::optional<ExportMetadata> recorded_metadata(const fs::path& file) {
  if (!fs::exists(file.parent_path() / kManifestFile)) return std::nullopt;
  const Manifest manifest = read_manifest(file.parent_path());
  for (const ManifestComponent& component : manifest.components)
    if (component.file == file.filename()) return component.metadata;
  return std::nullopt;
}

}  // namespace

TorchProgram TorchProgram::load(const fs::path& path) {
  auto impl = std::make_shared<Impl>();
  impl->file = dynamo::ProgramFile::open(path);
  impl->imported = import_raised(impl->file);
  const fs::path folder = path.parent_path();
  impl->recorded = recorded_metadata(path);
  if (impl->recorded && impl->recorded->architecture)
    impl->imported.program.architecture = *impl->recorded->architecture;
  if (fs::exists(folder / "config.json")) {
    impl->config = parse_json_file(folder / "config.json").dump(2) + "\n";
    impl->companions = find_companions(folder.empty() ? "." : folder);
  } else {
    impl->config = minimal_config(impl->imported.program);
  }
  return TorchProgram(std::move(impl));
}

const std::string& TorchProgram::architecture() const {
  return impl_->imported.program.architecture;
}
DType TorchProgram::dtype() const { return impl_->imported.program.dtype; }

bool TorchProgram::is_quantized() const {
  return std::ranges::any_of(impl_->imported.program.graph->order(), [](const Node* node) {
    return node->kind == NodeKind::kOp && (node->op->name().starts_with("quantized_decomposed::") ||
                                           node->op->name().starts_with("torchao::"));
  });
}

std::vector<LeafSpec> TorchProgram::inputs() const {
  std::vector<LeafSpec> leaves;
  for (const Node* input : impl_->imported.program.graph->inputs())
    leaves.push_back(leaf_of(input->name, input->types[0]));
  return leaves;
}

std::vector<LeafSpec> TorchProgram::outputs() const {
  std::vector<LeafSpec> leaves;
  for (const Output& output : impl_->imported.program.graph->outputs())
    leaves.push_back(leaf_of(output.name, output.value.type()));
  return leaves;
}

std::string TorchProgram::to_text() const { return print(*impl_->imported.program.graph); }

ExportedProgram raised(const TorchProgram& program) {
  ExportedProgram result = import_raised(program.impl().file).program;
  result.architecture = program.architecture();
  return result;
}

}  // namespace slipway

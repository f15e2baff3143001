// What a program tells about itself.
#include "base/output.h"
#include "export/impl.h"
#include "export/manifest.h"
#include "ir/print.h"

namespace slipway {
namespace {

std::string without(std::string name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::vector<LeafSpec> file_leaves(const std::vector<FileValue>& values, std::string_view prefix) {
  std::vector<LeafSpec> leaves;
  for (const auto& value : values)
    leaves.push_back({without(value.name, prefix), value.dtype, value.dims, value.optional});
  return leaves;
}

}  // namespace

LeafSpec leaf_of(const std::string& name, const ValueType& type) {
  LeafSpec leaf{name, type.dtype, {}, false};
  for (Sym s : type.shape) leaf.dims.push_back(s.str());
  return leaf;
}

ProgramPlace FreshProgram::place(const std::string& component) const {
  return {program_file(format(), component), {}};
}

std::vector<LeafSpec> Program::inputs() const {
  if (impl_->file) return file_leaves(impl_->file->inputs, "input.");
  std::vector<LeafSpec> leaves;
  for (const Node* input : impl_->fresh->graph().inputs()) {
    if (impl_->fresh->is_buffer(input->name)) continue;
    leaves.push_back(leaf_of(input->name, input->types[0]));
    leaves.back().optional = impl_->fresh->is_optional(input->name);
  }
  return leaves;
}

std::vector<LeafSpec> Program::outputs() const {
  if (impl_->file) return file_leaves(impl_->file->outputs, "output.");
  std::vector<LeafSpec> leaves;
  for (const Output& output : impl_->fresh->graph().outputs())
    if (const Node* node = output.value.node();
        (node->op == nullptr || !node->op->has(kSink)) && !impl_->fresh->is_buffer(output.name))
      leaves.push_back(leaf_of(output.name, output.value.type()));
  return leaves;
}

std::vector<std::pair<std::string, int64_t>> Program::op_counts() const {
  std::map<std::string, int64_t> counts;
  if (impl_->file) counts = impl_->file->op_counts;
  else
    for (const Node* node : impl_->fresh->graph().order())
      if (node->kind == NodeKind::kOp) ++counts[node->op->name()];
  return {counts.begin(), counts.end()};
}

std::optional<Delegation> Program::delegation() const {
  return impl_->fresh ? impl_->fresh->delegation() : std::nullopt;
}

std::string Program::to_text() const {
  return impl_->file ? impl_->file->listing : print(impl_->fresh->graph());
}

}  // namespace slipway

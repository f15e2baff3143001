// Programs for ExecuTorch, and joining them in one file.
#include "export/executorch_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/executorch/write.h"
#include "export/manifest.h"

namespace slipway {
namespace {

constexpr const char* kJoinedFile = "model";  // and the ending of the format

ProgramSizes sizes_of(const executorch::WriteSummary& summary) {
  return {summary.file_bytes - summary.weight_bytes, summary.weight_bytes,
          summary.kernel_calls + summary.delegate_calls};
}

/// All components, as methods.
struct JoinedFile {
  executorch::Program program;
  executorch::PlanOptions options;
};

/// A method of a joined file. The first one of the export stands for the file.
class ExecutorchMethod final : public FreshProgram {
 public:
  ExecutorchMethod(std::shared_ptr<const FreshProgram> own, std::shared_ptr<const JoinedFile> file,
                   size_t index)
      : own_(std::move(own)), file_(std::move(file)), index_(index) {}

  std::string format() const override { return own_->format(); }
  const Graph& graph() const override { return own_->graph(); }
  Layout layout() const override { return own_->layout(); }
  bool is_buffer(const std::string& name) const override { return own_->is_buffer(name); }
  bool is_optional(const std::string& name) const override { return own_->is_optional(name); }
  std::optional<Delegation> delegation() const override { return own_->delegation(); }
  ProgramPlace place(const std::string&) const override {
    return {program_file(format(), kJoinedFile), file_->program.methods[index_].name};
  }
  const FreshProgram& alone() const override { return *own_; }
  void write(const std::filesystem::path& folder, const std::string& component,
             SharedWeights&) const override {
    if (index_ == 0)
      executorch::write(file_->program, folder / place(component).file, file_->options);
  }
  ProgramSizes measure(const std::string&, SharedWeights&) const override {
    return index_ == 0 ? sizes_of(executorch::measure(file_->program, file_->options))
                       : ProgramSizes();
  }

 private:
  std::shared_ptr<const FreshProgram> own_;
  std::shared_ptr<const JoinedFile> file_;
  size_t index_;
};

/// The programs of the components where these ask for one file, else none.
std::vector<const ExecutorchProgram*> joined_programs(
    const std::vector<std::pair<std::string, ExportedComponent>>& components) {
  std::vector<const ExecutorchProgram*> programs;
  std::vector<std::string> others;
  for (const auto& [name, component] : components) {
    const auto* program =
        dynamic_cast<const ExecutorchProgram*>(component.program.impl().fresh.get());
    if (program != nullptr && program->sharing() == FileSharing::kOneFile)
      programs.push_back(program);
    else others.push_back(name);
  }
  if (!programs.empty() && !others.empty())
    throw Error(kUsage, fmt::format("[executorch] single_file is off for {} and on for the other "
                                    "components; set it for all or for none",
                                    fmt::join(others, ", ")));
  return programs;
}

}  // namespace

ExecutorchProgram::ExecutorchProgram(std::unique_ptr<Graph> graph, executorch::Program program,
                                     Delegation delegation, executorch::PlanOptions options,
                                     std::set<std::string> buffers, FileSharing sharing)
    : graph_(std::move(graph)),
      program_(std::move(program)),
      delegation_(std::move(delegation)),
      options_(options),
      buffers_(std::move(buffers)),
      sharing_(sharing) {}

Layout ExecutorchProgram::layout() const {
  return program_.metadata_methods.empty() ? Layout::kSlipway : Layout::kExecutorchLlm;
}

void ExecutorchProgram::write(const std::filesystem::path& folder, const std::string& component,
                              SharedWeights&) const {
  executorch::write(program_, folder / place(component).file, options_);
}

ProgramSizes ExecutorchProgram::measure(const std::string&, SharedWeights&) const {
  return sizes_of(executorch::measure(program_, options_));
}

void join_executorch(std::vector<std::pair<std::string, ExportedComponent>>& components) {
  const std::vector<const ExecutorchProgram*> programs = joined_programs(components);
  if (programs.size() < 2) return;
  auto file = std::make_shared<JoinedFile>();
  file->options = programs[0]->options();
  for (size_t i = 0; i < programs.size(); ++i) {
    const executorch::Program& program = programs[i]->program();
    if (programs[i]->options() != file->options)
      throw Error(kUsage,
                  fmt::format("[executorch] {} and {} have two settings of alloc_graph_input,"
                              " alloc_graph_output or alloc_mutable_buffers; components of "
                              "one file need the same",
                              components[0].first, components[i].first));
    executorch::Method method = program.methods.at(0);
    method.name = components[i].first;
    method.metadata = program.metadata;
    method.value_ranges = program.value_ranges;
    file->program.methods.push_back(std::move(method));
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    auto impl = std::make_shared<Program::Impl>();
    impl->fresh =
        std::make_shared<ExecutorchMethod>(components[i].second.program.impl().fresh, file, i);
    components[i].second.program = Program(std::move(impl));
  }
}

}  // namespace slipway

// A program for ExecuTorch that is not on disk yet, alone or as a method of a file of several.
#pragma once

#include <set>

#include "backends/executorch/plan.h"
#include "backends/executorch/program.h"
#include "export/impl.h"

namespace slipway {

/// Whether components of one export are to be one file (ExecutorchConfig::single_file).
enum class FileSharing { kOwnFiles, kOneFile };

/// One method, `forward`, in a file of its own.
class ExecutorchProgram final : public FreshProgram {
 public:
  ExecutorchProgram(std::unique_ptr<Graph> graph, executorch::Program program,
                    Delegation delegation, executorch::PlanOptions options,
                    std::set<std::string> buffers, FileSharing sharing);

  std::string format() const override { return "executorch"; }
  const Graph& graph() const override { return *graph_; }
  Layout layout() const override;
  bool is_buffer(const std::string& name) const override { return buffers_.contains(name); }
  std::optional<Delegation> delegation() const override { return delegation_; }
  void write(const std::filesystem::path& folder, const std::string& component,
             SharedWeights& shared) const override;
  ProgramSizes measure(const std::string& component, SharedWeights& shared) const override;

  const executorch::Program& program() const { return program_; }
  const executorch::PlanOptions& options() const { return options_; }
  FileSharing sharing() const { return sharing_; }

 private:
  std::unique_ptr<Graph> graph_;
  executorch::Program program_;
  Delegation delegation_;
  executorch::PlanOptions options_;
  std::set<std::string> buffers_;
  FileSharing sharing_;
};

/// Makes components that ask for it the methods of one file, each of its component's name, in their
/// order. One component alone, and those of other formats, stay as they are. Throws Error{kUsage}
/// where only some ask for it, and for two settings of who owns memory.
void join_executorch(std::vector<std::pair<std::string, ExportedComponent>>& components);

}  // namespace slipway

// Exported models: their graphs, what was recorded about them, saving, loading and running.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slipway/delegation.h"
#include "slipway/metadata.h"
#include "slipway/model.h"

namespace slipway {

/// An input or output of a program: leaf name, dtype, and sizes as text ("batch_size", "64").
struct LeafSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> dims;
  bool optional = false;  ///< an input that has a default in the graph
};

/// A back end's program: a graph of the format's own ops whose weights stay in the checkpoint until
/// they are written, or a file of a loaded export. Cheap to copy, immutable.
class Program {
 public:
  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::vector<LeafSpec> inputs() const;
  std::vector<LeafSpec> outputs() const;
  /// How often each op occurs, by its full name ("onnx::MatMul"), sorted by name.
  std::vector<std::pair<std::string, int64_t>> op_counts() const;
  /// What delegates compute: of a fresh program for ExecuTorch; nothing of the other formats and of
  /// a loaded file, where ops inside delegates are no longer known.
  std::optional<Delegation> delegation() const;
  /// The graph as text (docs/architecture.md); of a loaded file a listing of its nodes.
  std::string to_text() const;

  /// Writes the program's own files into a folder under a component's name, and nothing else; the
  /// path of its main file. For one component without the rest of an export: files of that name are
  /// replaced. Throws Error{kUsage} for a program that was loaded from a file.
  std::filesystem::path save(const std::filesystem::path& folder,
                             const std::string& component = "model") const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// One exported graph, and what the exporter recorded about it.
struct ExportedComponent {
  Program program;
  ExportMetadata metadata;
};

/// Named tensors in the graph's order.
using Outputs = std::vector<std::pair<std::string, Tensor>>;

/// How to load the runtime. Fields left out mean the runtime's default.
struct RunnerOptions {
  /// "cpu", "cuda", "cuda:1", "xpu" (an Intel GPU). Empty: the CPU; for OpenVINO "auto", which
  /// chooses among the devices of the machine.
  std::string device;
  std::vector<std::string> providers;  ///< the runtime's own names; win over device
  int intra_op_threads = 0;            ///< 0: every CPU the process may use
  /// Passed as they are: ONNX Runtime's session options, OpenVINO's compile properties
  /// ("CACHE_DIR": a folder for compiled models; "ENABLE_MMAP": "YES" maps the weights, which
  /// nobody may then write to; "ATTENTION_BACKEND": "SDPA" or "PA", plain attention or paged).
  std::vector<std::pair<std::string, std::string>> session_options;
};

/// A component loaded in its runtime. Thread-safe: several threads may run one runner.
class Runner {
 public:
  struct Impl;
  explicit Runner(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  /// Runs on inputs by leaf name, in any order. Integers of any width are converted;
  /// attention_mask, position_ids, token_type_ids and an empty cache are filled in where they are
  /// left out; inputs the export was not made with are dropped with one warning. Returns `wanted`
  /// outputs, or all. Throws Error{kInvalid} naming the input, the limit and the value before the
  /// runtime sees anything wrong.
  Outputs operator()(const Inputs& inputs, const std::vector<std::string>& wanted = {}) const;

  std::vector<LeafSpec> inputs() const;
  std::vector<LeafSpec> outputs() const;
  /// "ONNX Runtime 1.32.0".
  std::string runtime() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Whose directory an export is saved as (FORMAT.md of each back end has the files). Those that
/// hold ONNX graphs need a graph exported with their io_names.
enum class Layout {
  kSlipway,         ///< export.json, as the reference writes it
  kGenai,           ///< genai_config.json for onnxruntime-genai; Optimum reads it too
  kOptimum,         ///< for Optimum's ORTModel classes
  kTransformersJs,  ///< the graph in onnx/, for transformers.js
  kOpenvinoGenai,   ///< IR with a tokenizer of its own, for OpenVINO GenAI and Optimum Intel
  kExecutorchLlm,   ///< a program of llm_slots, for ExecuTorch's LLM runner
};

struct SaveOptions {
  /// Of a fresh export. A loaded one is copied as it is: Error{kUsage} for another layout.
  Layout layout = Layout::kSlipway;
  /// Called with the complete folder before it is put in place. What it throws leaves an older
  /// export untouched and the new one unwritten: the place to validate.
  std::function<void(const std::filesystem::path& folder)> before_commit;
};

/// An export: its components in order, and the files that travel with it. Movable. Running it loads
/// the runtime on the first call; an export that was not saved is written to a private temporary
/// directory first. to() is not thread-safe; calls are.
class ExportedModel {
 public:
  struct Impl;
  explicit ExportedModel(std::unique_ptr<Impl> impl);
  ExportedModel(ExportedModel&&) noexcept;
  ExportedModel& operator=(ExportedModel&&) noexcept;
  ~ExportedModel();

  /// Loads what save_pretrained, here or in the reference, wrote. A directory without export.json
  /// is read as one component "model": the graph that genai_config.json names, model.onnx,
  /// openvino_model.xml, or the one in onnx/. Every file is checked to be there; the runtime is
  /// opened at once. Throws Error{kInvalid} for a broken or incomplete directory,
  /// Error{kEnvironment} for a missing runtime.
  static ExportedModel from_pretrained(const std::filesystem::path& directory,
                                       const std::string& subfolder = "",
                                       const RunnerOptions& options = {});

  /// Writes the components, export.json, config.json and the companion files. They appear together:
  /// a failure leaves an older export at `directory` untouched.
  void save_pretrained(const std::filesystem::path& directory,
                       const SaveOptions& options = {}) const;

  const std::string& export_format() const;
  const std::vector<std::pair<std::string, ExportedComponent>>& components() const;
  /// The component of a name; Error{kUsage} lists the names.
  const ExportedComponent& component(const std::string& name) const;
  /// The one component's program; Error{kUsage} when there are several.
  const Program& program() const;
  /// config.json as text; empty when the export has none.
  const std::string& config() const;
  /// The directory it was loaded from; empty for a fresh export.
  const std::filesystem::path& directory() const;
  /// The main file of a loaded export's component; empty for a fresh export.
  std::filesystem::path file_of(const std::string& component) const;

  /// Loads every component on a device.
  ExportedModel& to(const RunnerOptions& options);
  ExportedModel& to(const std::string& device) {
    return to(RunnerOptions{
        .device = device, .providers = {}, .intra_op_threads = 0, .session_options = {}});
  }
  /// The runner of each component, in order.
  const std::vector<std::pair<std::string, Runner>>& runners() const;
  const Runner& runner(const std::string& name) const;

  /// Runs the one component.
  Outputs operator()(const Inputs& inputs) const;

  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway

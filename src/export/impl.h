// What stands behind the handles of the public API; private to layers 7 and 8.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/onnx/write.h"
#include "base/file_summary.h"
#include "checkpoint/checkpoint.h"
#include "models/registry.h"
#include "runtime/model_runner.h"
#include "slipway/exported_model.h"

namespace slipway {

/// The programs that calls of a model run in libtorch, by the names of their inputs.
struct EagerPrograms {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<ExportedModel>> programs;
};

struct PreTrainedModel::Impl {
  Checkpoint checkpoint;
  const models::ModelType* type = nullptr;
  models::ResolvedTask task;
  DType dtype = DType::kF32;
  std::string architecture, model_type;
  bool one_token = false;  ///< a decode step: its graph takes one token a row
  /// Not shared with copies of the whole Impl: they stand for another graph.
  std::shared_ptr<EagerPrograms> eager = std::make_shared<EagerPrograms>();
};

/// The file that components of an export keep their weights in together, where the format has one.
struct SharedWeights {
  DataFile data;
  std::string name;  ///< empty: the component's own
};

/// What writing a program would give.
struct ProgramSizes {
  int64_t graph_bytes = 0;   ///< of the graph file, without weights
  int64_t weight_bytes = 0;  ///< of this component, or of all so far where they share a data file
  int64_t nodes = 0;
};

/// The outline of a component's file, or of a method of it. Throws Error{kUnsupported} for a format
/// without a reader, and what the readers throw.
FileSummary outline_of(const std::string& format, const std::filesystem::path& file,
                       const std::string& method = {});
/// The same, and every file that it needs is there: Error{kInvalid} names one that is not.
FileSummary summary_of(const std::string& format, const std::filesystem::path& file,
                       const std::string& method = {});

/// An input or output of a graph as callers see it.
LeafSpec leaf_of(const std::string& name, const ValueType& type);

/// Where a component is in an export's directory.
struct ProgramPlace {
  std::string file;    ///< below the directory: "model.onnx", "onnx/model.onnx"
  std::string method;  ///< of a file that holds several components
};

/// A graph that is not on disk yet, with what its format knows about writing it.
class FreshProgram {
 public:
  virtual ~FreshProgram() = default;

  /// "onnx", "openvino", ...
  virtual std::string format() const = 0;
  virtual const Graph& graph() const = 0;
  /// The only layout that it can be saved as, where it is no graph for ours.
  virtual Layout layout() const { return Layout::kSlipway; }
  /// Whether an input and the output of its name are a buffer inside the program.
  virtual bool is_buffer(const std::string&) const { return false; }
  /// Whether an input has a default, so that callers may leave it out.
  virtual bool is_optional(const std::string&) const { return false; }
  virtual std::optional<Delegation> delegation() const { return std::nullopt; }
  virtual ProgramPlace place(const std::string& component) const;
  /// The program in files of its own, where place() is in a file of several.
  virtual const FreshProgram& alone() const { return *this; }
  /// Writes the component's graph file into a folder; weights go along or into `shared`. A file of
  /// several components comes with the first.
  virtual void write(const std::filesystem::path& folder, const std::string& component,
                     SharedWeights& shared) const = 0;
  virtual ProgramSizes measure(const std::string& component, SharedWeights& shared) const = 0;
};

/// Either a graph that is not on disk yet, or a file.
struct Program::Impl {
  std::shared_ptr<const FreshProgram> fresh;

  std::optional<FileSummary> file;
  ProgramPlace file_place{};  ///< of a file

  ProgramPlace place(const std::string& component) const {
    return file ? file_place : fresh->place(component);
  }
};

/// A component that is opened in its runtime when it is first used: of an export with several,
/// generation may need one only.
struct Runner::Impl {
  explicit Impl(std::function<ModelRunner()> open) : open_(std::move(open)) {}

  /// Throws what opening throws; a later call tries again.
  const ModelRunner& runner() const {
    std::call_once(once_, [this] { opened_.emplace(open_()); });
    return *opened_;
  }

 private:
  std::function<ModelRunner()> open_;
  mutable std::once_flag once_;
  mutable std::optional<ModelRunner> opened_;
};

/// A directory that goes away with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ExportedModel::Impl {
  std::string format = "onnx";
  std::vector<std::pair<std::string, ExportedComponent>> components;
  std::string config;  ///< config.json as text
  std::vector<CompanionFile> companions;
  std::filesystem::path directory;   ///< of a loaded export
  Layout layout = Layout::kSlipway;  ///< of a loaded export

  std::mutex mutex;                               ///< guards what follows
  std::shared_ptr<TemporaryDirectory> temporary;  ///< of a fresh export that was called
  std::vector<std::pair<std::string, Runner>> runners;
};

}  // namespace slipway

// A loaded ONNX model: its description, and running it.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/onnx/runner/external_files.h"
#include "backends/onnx/runner/library.h"
#include "backends/onnx/runner/ort.h"
#include "runtime/abi.h"

namespace slipway::onnx_runner {

/// Immutable after construction: run() may be called from several threads at once.
class Model : public std::enable_shared_from_this<Model> {
 public:
  /// Opens the file. Throws Error naming the file: kInvalid for what is wrong with it or with a
  /// companion, kUnsupported for what this runtime lacks, and what session_options() throws.
  Model(const std::filesystem::path& path, std::string_view options);

  const abi::SessionDescription& description() const { return description_; }
  const std::string& name() const { return name_; }
  Ort::Session& session() const { return session_; }

  void run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
           size_t num_outputs) const;

 private:
  void describe();
  abi::IoDescription describe_io(std::string name, const Ort::TypeInfo& type);
  const char* keep(std::string text);

  const Library& library_;                 ///< first: the members below need its functions
  std::string name_;                       ///< the file name, for messages
  std::vector<LinkedFile> linked_;         ///< mapped as long as the session reads them
  mutable Ort::Session session_{nullptr};  // Run() is not const in the C++ API but is thread-safe

  // What description_ points into. Deques: elements stay where they are.
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> sizes_;
  std::deque<std::vector<const char*>> symbols_;
  std::vector<abi::IoDescription> inputs_, optional_inputs_, outputs_;
  std::vector<abi::KeyValue> metadata_;
  abi::SessionDescription description_{};
};

/// An error of ONNX Runtime as ours: its code decides whose mistake it is. `loading` tells a file
/// that cannot be loaded from inputs that cannot be run.
enum class Stage { kLoading, kRunning };
[[noreturn]] void rethrow(const Ort::Exception& error, std::string_view where, Stage stage);

}  // namespace slipway::onnx_runner

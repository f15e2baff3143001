// A method of a .pte file: its description, and running it.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/executorch/runner/instance.h"
#include "runtime/abi.h"

namespace slipway::executorch_runner {

/// Loaded once. run() may be called from several threads at once, each with an instance of its own.
class Model {
 public:
  /// Opens the file and loads the method that the options name. Throws Error naming the file:
  /// kInvalid for what is wrong with it, kUnsupported for what this runtime lacks.
  Model(const std::filesystem::path& path, std::string_view options);

  const abi::SessionDescription& description() const { return description_; }
  const std::string& name() const { return name_; }
  const executorch::MethodOutline& method() const { return *method_; }

  /// Throw Error{kUsage} naming those that there are.
  size_t input_index(std::string_view name) const;
  size_t output_index(std::string_view name) const;

  /// A loaded method whose buffers are what they were at first.
  std::unique_ptr<Instance> new_instance() const;

  /// Buffers begin anew in each run: with what is given under their name, as an input, or as they
  /// were at first. They can be asked for like outputs.
  void run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
           size_t num_outputs) const;

 private:
  void describe();
  abi::IoDescription describe_port(const executorch::Port& port);
  const char* keep(std::string text);
  bool is_state(std::string_view name) const;

  std::string name_;  ///< the file name, for messages
  executorch::Outline outline_;
  const executorch::MethodOutline* method_ = nullptr;
  std::optional<Shapes> shapes_;
  std::shared_ptr<const ProgramFile> file_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Instance>> idle_;

  // What description_ points into. Deques: elements stay where they are.
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> sizes_;
  std::deque<std::vector<const char*>> symbols_;
  std::vector<abi::IoDescription> inputs_, outputs_, states_;
  std::vector<abi::KeyValue> metadata_;
  abi::SessionDescription description_{};
};

}  // namespace slipway::executorch_runner

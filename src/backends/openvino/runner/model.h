// A loaded OpenVINO model: its description, and running it.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/openvino/runner/options.h"
#include "backends/openvino/runner/paged_request.h"
#include "backends/openvino/runner/plain_request.h"
#include "runtime/abi.h"

namespace slipway::openvino_runner {

/// Compiled once. run() may be called from several threads at once, each with a request of its own.
class Model : public std::enable_shared_from_this<Model> {
 public:
  /// Reads, completes (logits.h) and compiles the file. Its weights are read into memory, not
  /// mapped: what is mapped takes the process along when somebody writes to the file (cases.md);
  /// the property ENABLE_MMAP maps them. Attention of a decoder is paged (paged_graph.h) on the CPU
  /// where it can be. Throws Error naming the file.
  Model(const std::filesystem::path& path, std::string_view options);

  const abi::SessionDescription& description() const { return description_; }
  const std::string& name() const { return name_; }

  /// As a Request counts them. Throw Error{kUsage} naming those that there are.
  size_t input(std::string_view name) const;
  size_t output(std::string_view name) const;
  bool has_state(std::string_view name) const { return state_names_.count(name) != 0; }

  /// A request whose states are the graph's first ones, and whose optional inputs are set.
  std::unique_ptr<Request> new_request() const;

  /// States begin anew in each run: with what is given under their name, as an input, or with the
  /// graph's first value. They can be asked for like outputs.
  void run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
           size_t num_outputs) const;

 private:
  void compile(const std::filesystem::path& path, std::string_view options);
  bool compile_paged(ov::Core& core, const ov::Model& model, const Options& options,
                     ov::AnyMap properties);
  void describe(const ov::Model& model);
  void describe_metadata(const ov::Model& model);
  abi::IoDescription describe_io(const std::string& name, const ov::element::Type& type,
                                 const ov::PartialShape& shape);
  const char* keep(std::string text);
  void take_outputs(Request& request, abi::Output* outputs, size_t num_outputs) const;

  std::string name_;  ///< the file name, for messages
  bool keeps_logits_ = false;
  mutable ov::CompiledModel compiled_;  // create_infer_request() is not const, but thread-safe
  Ports ports_;
  std::optional<PagedPlan> paged_;

  std::map<std::string, size_t, std::less<>> input_numbers_, output_numbers_;  ///< by every name
  std::set<std::string, std::less<>> state_names_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Request>> idle_;

  // What description_ points into. Deques: elements stay where they are.
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> sizes_;
  std::deque<std::vector<const char*>> symbols_;
  std::map<std::string, std::vector<std::string>> stated_sizes_;  ///< by name, of our own files
  std::vector<abi::IoDescription> inputs_, optional_inputs_, outputs_, states_;
  std::vector<abi::KeyValue> metadata_;
  abi::SessionDescription description_{};
};

}  // namespace slipway::openvino_runner

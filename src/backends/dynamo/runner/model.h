// A loaded .pt2 file: its description, and running it.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/dynamo/archive.h"
#include "backends/dynamo/contract.h"
#include "backends/dynamo/runner/code.h"
#include "runtime/abi.h"

namespace slipway::dynamo_runner {

/// An output of one run: which, where it shall be written (null: wherever), and what it was.
struct Wanted {
  size_t output = 0;
  const abi::DLTensor* memory = nullptr;
  at::Tensor result;
};

/// Loaded once: its ops are resolved, its weights lie in the mapped file. run() may be called from
/// several threads at once; those of a program that keeps state take turns.
class Model {
 public:
  /// Throws Error naming the file: kInvalid for what is wrong with it, kUnsupported for ops that
  /// this libtorch lacks, kEnvironment for a device that is not there, kUsage for options.
  Model(const std::filesystem::path& path, std::string_view options);

  const abi::SessionDescription& description() const { return description_; }
  const std::string& name() const { return name_; }

  /// Throws Error{kUsage} naming those that there are.
  size_t input_index(std::string_view name) const;
  size_t output_index(std::string_view name) const;
  size_t num_inputs() const { return contract_.inputs.size(); }
  const std::string& output_name(size_t output) const { return contract_.outputs[output].name; }

  /// `inputs` has one tensor per input, in the description's order. Results lie where they were
  /// wanted, or in memory of their own (hand_over). Nothing is written when a run fails, except to
  /// inputs that are updated in place because an output has the same memory.
  void run(std::span<const abi::DLTensor* const> inputs, std::span<Wanted> outputs) const;

  /// The same by name, as the C interface has it.
  void run(const abi::Input* inputs, size_t num_inputs, abi::Output* outputs,
           size_t num_outputs) const;

 private:
  /// The ranges of sizes that the program states, and those of ids that our writer stored.
  void describe_limits(const dynamo::Archive& archive);
  void describe();
  abi::IoDescription describe_port(const dynamo::Port& port);
  std::vector<c10::IValue> take_inputs(std::span<const abi::DLTensor* const> inputs,
                                       std::span<const Wanted> outputs) const;
  at::Tensor take_input(size_t index, const abi::DLTensor& given,
                        std::span<const Wanted> outputs) const;
  at::Tensor result_of(size_t output, const std::vector<c10::IValue>& inputs,
                       const std::vector<c10::IValue>& outputs) const;

  std::string name_;  ///< the file name, for messages
  c10::Device device_;
  int threads_ = 0;
  dynamo::Contract contract_;
  Code code_;
  std::vector<bool> written_;        ///< of each input: nodes write to it
  std::vector<size_t> updated_as_;   ///< of each input: the output of its new value, or none
  std::vector<size_t> shown_input_;  ///< of each output: the input whose new value it is, or none
  std::vector<std::pair<at::Tensor, size_t>> mutations_;  ///< state, and the output that it becomes
  bool keeps_state_ = false;
  mutable std::mutex state_mutex_;

  std::unordered_map<std::string, size_t> input_indices_, output_indices_;
  // What description_ points into. Deques: elements stay where they are.
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> sizes_;
  std::deque<std::vector<const char*>> symbols_;
  std::vector<abi::IoDescription> inputs_, outputs_;
  std::vector<abi::KeyValue> metadata_;
  abi::SessionDescription description_{};
};

}  // namespace slipway::dynamo_runner

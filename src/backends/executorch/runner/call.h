// A run of a method that is repeated with the same names, on an instance of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/executorch/runner/model.h"

namespace slipway::executorch_runner {

/// Holds one loaded method, and with it the buffers of what was run. One thread at a time.
class RepeatedCall {
 public:
  RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
               std::span<const char* const> outputs);

  void set_input(size_t input, const abi::DLTensor& tensor);
  /// Null: the output is given memory in each run.
  void set_output(size_t output, const abi::DLTensor* memory);
  /// The memory of an output becomes an input's. Throws Error{kUsage} for an output without one.
  void feed_back(size_t output, size_t input);
  /// Returns the nanoseconds that the runtime took. Throws Error{kUsage} for an input without a
  /// value, and what a run throws.
  int64_t run();
  abi::DLManagedTensor* take_output(size_t output);

  void reset_states();
  void set_state(std::string_view name, const abi::DLTensor& tensor) {
    instance_->set_buffer(name, tensor);
  }
  /// A copy of what the state is now.
  abi::DLManagedTensor* get_state(std::string_view name) { return instance_->get_buffer(name); }

 private:
  void check_place(size_t at, size_t count, std::string_view what) const;
  const executorch::Port& output_port(size_t output) const;

  std::shared_ptr<Model> model_;
  std::unique_ptr<Instance> instance_;
  std::vector<size_t> inputs_;  ///< the method's index of each
  std::vector<View> views_;     ///< by the method's index
  std::vector<bool> set_;
  std::vector<Wanted> wanted_;
};

}  // namespace slipway::executorch_runner

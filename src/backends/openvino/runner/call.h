// A run of a model that is repeated with the same names, on a request of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/openvino/runner/model.h"

namespace slipway::openvino_runner {

/// Holds one request, and with it the states of what was run. One thread at a time.
class RepeatedCall {
 public:
  RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
               std::span<const char* const> outputs);

  void set_input(size_t input, const abi::DLTensor& tensor);
  /// Null: the runtime allocates the output in each run.
  void set_output(size_t output, const abi::DLTensor* memory);
  /// The memory of an output becomes an input's. Throws Error{kUsage} for an output without one.
  void feed_back(size_t output, size_t input);
  /// Returns the nanoseconds that the runtime took. Throws Error{kUsage} for an input without a
  /// value, and what a run throws.
  int64_t run();
  abi::DLManagedTensor* take_output(size_t output);

  void reset_states() { request_->reset_states(); }
  void set_state(std::string_view name, const abi::DLTensor& tensor);
  /// A copy of what the state is now.
  abi::DLManagedTensor* get_state(std::string_view name);

 private:
  struct Port {
    std::string name;
    size_t at;           ///< among the request's
    ov::Tensor tensor;   ///< the caller's memory
    bool ready = false;  ///< an output that can be taken
  };
  Port& checked(std::vector<Port>& ports, size_t at);

  std::shared_ptr<Model> model_;
  std::unique_ptr<Request> request_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace slipway::openvino_runner

// A run of a session that is repeated with the same names, at little cost of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace slipway {

/// Inputs and outputs are known by their place in the lists given at the start. What is not set
/// again stays as it was, so a run in which nothing changes costs nothing but the run. Keeps the
/// model alive, not the memory: the caller does, until it is set anew. One thread at a time.
/// Names, dtypes and sizes are checked by the runtime only.
class RepeatedCall {
 public:
  RepeatedCall(const Session& session, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs);

  void set_input(size_t input, const Tensor& tensor);
  /// The output is written to `memory`, which has its exact dtype and shape. It may be the memory
  /// of an input that the graph updates in place.
  void set_output(size_t output, const Tensor& memory);
  /// Memory without a Tensor: `shape` is read during the call only.
  void set_input(size_t input, DType dtype, std::span<const int64_t> shape, const void* data);
  void set_output(size_t output, DType dtype, std::span<const int64_t> shape, void* data);
  /// The runtime allocates the output in each run; the default.
  void clear_output(size_t output);
  /// What an output was set to becomes an input, without being described again. Unless the output
  /// is set again, the runtime allocates it.
  void feed_back(size_t output, size_t input);

  void run();
  /// The value of an output that the runtime allocated, once per run.
  Tensor take_output(size_t output);

  /// What the graph keeps from run to run: it is this call's own. By the graph's names; elements
  /// are copied.
  void reset_states();
  void set_state(const std::string& name, const Tensor& tensor);
  Tensor get_state(const std::string& name) const;

  /// Time spent inside the runtime, over all runs.
  double runtime_seconds() const { return static_cast<double>(nanoseconds_) * 1e-9; }

 private:
  const abi::Runtime* api_;
  std::shared_ptr<abi::Session> session_;
  std::shared_ptr<abi::Call> handle_;
  int64_t nanoseconds_ = 0;
};

}  // namespace slipway

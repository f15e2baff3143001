// A run that is repeated with inputs and outputs known by their place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/dynamo/runner/model.h"

namespace slipway::dynamo_runner {

/// A description of the caller's memory with a shape of its own.
class Held {
 public:
  Held() = default;
  explicit Held(const abi::DLTensor& tensor);
  /// Null when nothing is held. Valid until this object changes or moves.
  const abi::DLTensor* get() const;
  bool empty() const { return !set_; }

 private:
  mutable abi::DLTensor tensor_{};
  std::vector<int64_t> shape_, strides_;
  bool set_ = false;
};

/// One thread at a time.
class RepeatedCall {
 public:
  RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
               std::span<const char* const> outputs);

  void set_input(size_t input, const abi::DLTensor& tensor);
  /// Null: libtorch allocates the output in each run.
  void set_output(size_t output, const abi::DLTensor* memory);
  /// Throws Error{kUsage} for an output without memory.
  void feed_back(size_t output, size_t input);
  /// Returns the nanoseconds that the run took. Throws Error{kUsage} for an input without a value,
  /// and what a run throws.
  int64_t run();
  /// The value of an output that has no memory of its own, once per run.
  abi::DLManagedTensor* take_output(size_t output);

 private:
  void check(size_t at, size_t count, std::string_view what) const;

  std::shared_ptr<Model> model_;
  std::vector<size_t> inputs_;  ///< the model's index of each
  std::vector<Held> given_, memory_;
  std::vector<const abi::DLTensor*> tensors_;  ///< what a run is called with
  std::vector<Wanted> wanted_;
};

}  // namespace slipway::dynamo_runner

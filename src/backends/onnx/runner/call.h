// A run of a model that is repeated with the same names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/onnx/runner/session.h"

namespace slipway::onnx_runner {

/// Keeps one ONNX Runtime value for each input and output, by place. One thread at a time.
class RepeatedCall {
 public:
  RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
               std::span<const char* const> outputs);

  void set_input(size_t input, const abi::DLTensor& tensor);
  /// Null: the runtime allocates the output in each run.
  void set_output(size_t output, const abi::DLTensor* memory);
  /// Moves the value of an output to an input. Throws Error{kUsage} for an output without one.
  void feed_back(size_t output, size_t input);
  /// Returns the nanoseconds that the runtime took. Throws Error{kUsage} for an input without a
  /// value, and what a run throws.
  int64_t run();
  abi::DLManagedTensor* take_output(size_t output);

 private:
  const std::string& checked(const std::vector<std::string>& names, size_t at) const;

  std::shared_ptr<Model> model_;
  std::vector<std::string> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;  ///< point into the names
  std::vector<Ort::Value> input_values_, output_values_;
  std::vector<OrtValue*> given_, made_;  ///< what a run is called with
  std::vector<bool> allocated_;          ///< outputs that the runtime allocates
};

}  // namespace slipway::onnx_runner

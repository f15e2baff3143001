// A run of a model that is repeated with the same names.
#include "backends/onnx/runner/call.h"

#include <fmt/format.h>

#include <chrono>

#include "backends/onnx/runner/values.h"
#include "slipway/error.h"

namespace slipway::onnx_runner {

RepeatedCall::RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
                           std::span<const char* const> outputs)
    : model_(std::move(model)),
      inputs_(inputs.begin(), inputs.end()),
      outputs_(outputs.begin(), outputs.end()),
      given_(inputs.size(), nullptr),
      made_(outputs.size(), nullptr),
      allocated_(outputs.size(), true) {
  for (const std::string& name : inputs_) input_names_.push_back(name.c_str());
  for (const std::string& name : outputs_) output_names_.push_back(name.c_str());
  for (size_t i = 0; i < inputs_.size(); ++i) input_values_.emplace_back(nullptr);
  for (size_t i = 0; i < outputs_.size(); ++i) output_values_.emplace_back(nullptr);
}

const std::string& RepeatedCall::checked(const std::vector<std::string>& names, size_t at) const {
  if (at < names.size()) return names[at];
  throw Error(kUsage, fmt::format("[onnx] {} has {} inputs or outputs in this call, got number {}",
                                  model_->name(), names.size(), at));
}

void RepeatedCall::set_input(size_t input, const abi::DLTensor& tensor) {
  input_values_[input] = wrap_tensor(tensor, checked(inputs_, input));
}

void RepeatedCall::set_output(size_t output, const abi::DLTensor* memory) {
  const std::string& name = checked(outputs_, output);
  output_values_[output] = memory != nullptr ? wrap_tensor(*memory, name) : Ort::Value{nullptr};
  allocated_[output] = memory == nullptr;
}

void RepeatedCall::feed_back(size_t output, size_t input) {
  checked(inputs_, input);
  const std::string& name = checked(outputs_, output);
  if (allocated_[output] || !output_values_[output])
    throw Error(kUsage, fmt::format("[onnx] the output {} was not set to memory", name));
  input_values_[input] = std::move(output_values_[output]);
  allocated_[output] = true;
}

int64_t RepeatedCall::run() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    given_[i] = input_values_[i];
    if (given_[i] == nullptr)
      throw Error(kUsage, fmt::format("[onnx] the input {} was not set", inputs_[i]));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (allocated_[i]) output_values_[i] = Ort::Value{nullptr};
    made_[i] = output_values_[i];
  }
  const auto start = std::chrono::steady_clock::now();
  OrtStatus* status =
      Ort::GetApi().Run(model_->session(), nullptr, input_names_.data(), given_.data(),
                        given_.size(), output_names_.data(), output_names_.size(), made_.data());
  const auto spent = std::chrono::steady_clock::now() - start;
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (allocated_[i]) output_values_[i] = Ort::Value{made_[i]};
  try {
    Ort::ThrowOnError(status);
  } catch (const Ort::Exception& e) {
    rethrow(e, model_->name(), Stage::kRunning);
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

abi::DLManagedTensor* RepeatedCall::take_output(size_t output) {
  const std::string& name = checked(outputs_, output);
  if (!allocated_[output] || !output_values_[output])
    throw Error(kUsage,
                fmt::format("[onnx] the output {} was not run, or has memory of its own", name));
  return hand_over(std::move(output_values_[output]), model_, name);
}

}  // namespace slipway::onnx_runner

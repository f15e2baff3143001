// A run that is repeated with inputs and outputs known by their place.
#include "backends/dynamo/runner/call.h"

#include <fmt/format.h>

#include <chrono>

#include "backends/dynamo/runner/memory.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {

Held::Held(const abi::DLTensor& tensor)
    : tensor_(tensor), shape_(tensor.shape, tensor.shape + tensor.ndim), set_(true) {
  if (tensor.strides != nullptr) strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
}

const abi::DLTensor* Held::get() const {
  if (!set_) return nullptr;
  tensor_.shape = const_cast<int64_t*>(shape_.data());  // readers do not write to it
  tensor_.strides = tensor_.strides != nullptr ? const_cast<int64_t*>(strides_.data()) : nullptr;
  return &tensor_;
}

RepeatedCall::RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
                           std::span<const char* const> outputs)
    : model_(std::move(model)), given_(inputs.size()), memory_(outputs.size()) {
  for (const char* name : inputs) inputs_.push_back(model_->input_index(name));
  for (const char* name : outputs) wanted_.push_back({model_->output_index(name), nullptr, {}});
  tensors_.resize(model_->num_inputs());
}

void RepeatedCall::check(size_t at, size_t count, std::string_view what) const {
  if (at < count) return;
  throw Error(kUsage, fmt::format("[dynamo] {} has {} {} in this call, got number {}",
                                  model_->name(), count, what, at));
}

void RepeatedCall::set_input(size_t input, const abi::DLTensor& tensor) {
  check(input, given_.size(), "inputs");
  given_[input] = Held(tensor);
}

void RepeatedCall::set_output(size_t output, const abi::DLTensor* memory) {
  check(output, memory_.size(), "outputs");
  memory_[output] = memory != nullptr ? Held(*memory) : Held();
  wanted_[output].result = at::Tensor();
}

void RepeatedCall::feed_back(size_t output, size_t input) {
  check(input, given_.size(), "inputs");
  check(output, memory_.size(), "outputs");
  if (memory_[output].empty())
    throw Error(kUsage, fmt::format("[dynamo] the output {} was not set to memory",
                                    model_->output_name(wanted_[output].output)));
  given_[input] = std::move(memory_[output]);
  memory_[output] = Held();
}

int64_t RepeatedCall::run() {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (given_[i].empty())
      throw Error(kUsage, fmt::format("[dynamo] input {} of the call was not set", i));
    tensors_[inputs_[i]] = given_[i].get();
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    wanted_[i].memory = memory_[i].get();
    wanted_[i].result = at::Tensor();
  }
  model_->run(tensors_, wanted_);
  const auto spent = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

abi::DLManagedTensor* RepeatedCall::take_output(size_t output) {
  check(output, wanted_.size(), "outputs");
  const std::string& name = model_->output_name(wanted_[output].output);
  if (!memory_[output].empty() || !wanted_[output].result.defined())
    throw Error(kUsage,
                fmt::format("[dynamo] the output {} was not run, or has memory of its own", name));
  return hand_over(std::exchange(wanted_[output].result, at::Tensor()), name);
}

}  // namespace slipway::dynamo_runner

// A run of a method that is repeated with the same names, on an instance of its own.
#include "backends/executorch/runner/call.h"

#include <fmt/format.h>

#include <chrono>

#include "slipway/error.h"

namespace slipway::executorch_runner {

RepeatedCall::RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
                           std::span<const char* const> outputs)
    : model_(std::move(model)),
      instance_(model_->new_instance()),
      views_(model_->method().inputs.size()),
      set_(views_.size()) {
  for (const char* name : inputs) inputs_.push_back(model_->input_index(name));
  for (const char* name : outputs) wanted_.push_back({.output = model_->output_index(name)});
}

void RepeatedCall::check_place(size_t at, size_t count, std::string_view what) const {
  if (at < count) return;
  throw Error(kUsage, fmt::format("[executorch] {} has {} {} in this call, got number {}",
                                  model_->name(), count, what, at));
}

const executorch::Port& RepeatedCall::output_port(size_t output) const {
  return model_->method().outputs[wanted_[output].output];
}

void RepeatedCall::set_input(size_t input, const abi::DLTensor& tensor) {
  check_place(input, inputs_.size(), "inputs");
  const size_t at = inputs_[input];
  const executorch::Port& port = model_->method().inputs[at];
  views_[at] = View(tensor, port.dtype, port.name);
  set_[at] = true;
}

void RepeatedCall::set_output(size_t output, const abi::DLTensor* memory) {
  check_place(output, wanted_.size(), "outputs");
  const executorch::Port& port = output_port(output);
  wanted_[output].memory.reset();
  if (memory != nullptr) wanted_[output].memory = View(*memory, port.dtype, port.name);
}

void RepeatedCall::feed_back(size_t output, size_t input) {
  check_place(input, inputs_.size(), "inputs");
  check_place(output, wanted_.size(), "outputs");
  if (!wanted_[output].memory)
    throw Error(kUsage, fmt::format("[executorch] the output {} was not set to memory",
                                    output_port(output).name));
  views_[inputs_[input]] = *std::exchange(wanted_[output].memory, std::nullopt);
  set_[inputs_[input]] = true;
}

int64_t RepeatedCall::run() {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < views_.size(); ++i)
    if (!set_[i] && model_->method().inputs[i].kind == executorch::PortKind::kTensor)
      throw Error(kUsage, fmt::format("[executorch] the input {} of the call was not set",
                                      model_->method().inputs[i].name));
  for (Wanted& wanted : wanted_) wanted.result.reset();
  instance_->run(views_, wanted_);
  const auto spent = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

void RepeatedCall::reset_states() {
  if (model_->method().unnamed_state) instance_ = model_->new_instance();
  else instance_->reset_buffers();
}

abi::DLManagedTensor* RepeatedCall::take_output(size_t output) {
  check_place(output, wanted_.size(), "outputs");
  if (!wanted_[output].result)
    throw Error(kUsage, fmt::format("[executorch] the output {} lies in memory that was set, was "
                                    "taken already, or was not run yet",
                                    output_port(output).name));
  return wanted_[output].result.release();
}

}  // namespace slipway::executorch_runner

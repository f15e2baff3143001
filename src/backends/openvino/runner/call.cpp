// A run of a model that is repeated with the same names, on a request of its own.
#include "backends/openvino/runner/call.h"

#include <fmt/format.h>

#include <chrono>

#include "backends/openvino/runner/library.h"
#include "backends/openvino/runner/tensors.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {

RepeatedCall::RepeatedCall(std::shared_ptr<Model> model, std::span<const char* const> inputs,
                           std::span<const char* const> outputs)
    : model_(std::move(model)), request_(model_->new_request()) {
  for (const char* name : inputs) inputs_.push_back({name, model_->input(name), {}});
  for (const char* name : outputs) outputs_.push_back({name, model_->output(name), {}});
}

RepeatedCall::Port& RepeatedCall::checked(std::vector<Port>& ports, size_t at) {
  if (at < ports.size()) return ports[at];
  throw Error(kUsage, fmt::format("[openvino] {} has {} inputs or outputs in this call, got number "
                                  "{}",
                                  model_->name(), ports.size(), at));
}

void RepeatedCall::set_input(size_t input, const abi::DLTensor& tensor) {
  Port& port = checked(inputs_, input);
  port.tensor = wrap_tensor(tensor, port.name);
  request_->set_input(port.at, port.tensor);
}

void RepeatedCall::set_output(size_t output, const abi::DLTensor* memory) {
  Port& port = checked(outputs_, output);
  port.tensor = memory != nullptr ? wrap_tensor(*memory, port.name) : ov::Tensor();
  request_->set_output(port.at, port.tensor);
}

void RepeatedCall::feed_back(size_t output, size_t input) {
  Port &from = checked(outputs_, output), &to = checked(inputs_, input);
  if (!from.tensor)
    throw Error(kUsage, fmt::format("[openvino] the output {} was not set to memory", from.name));
  to.tensor = std::exchange(from.tensor, ov::Tensor());
  request_->set_output(from.at, from.tensor);
  request_->set_input(to.at, to.tensor);
}

int64_t RepeatedCall::run() {
  for (const Port& port : inputs_)
    if (!port.tensor)
      throw Error(kUsage, fmt::format("[openvino] the input {} was not set", port.name));
  for (Port& port : outputs_) port.ready = !port.tensor;
  const auto start = std::chrono::steady_clock::now();
  try {
    request_->infer();
  } catch (const Error&) {
    for (Port& port : outputs_) port.ready = false;
    throw;
  } catch (const std::exception& e) {
    for (Port& port : outputs_) port.ready = false;
    rethrow(e, model_->name(), Stage::kRunning);
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

abi::DLManagedTensor* RepeatedCall::take_output(size_t output) {
  Port& port = checked(outputs_, output);
  if (!std::exchange(port.ready, false))
    throw Error(kUsage, fmt::format("[openvino] the output {} lies in memory that was set, was "
                                    "taken already, or was not run yet",
                                    port.name));
  return hand_over(request_->output(port.at), model_, port.name);
}

void RepeatedCall::set_state(std::string_view name, const abi::DLTensor& tensor) {
  request_->set_state(name, wrap_tensor(tensor, name));
}

abi::DLManagedTensor* RepeatedCall::get_state(std::string_view name) {
  return hand_over(request_->copy_state(name), model_, name);
}

}  // namespace slipway::openvino_runner

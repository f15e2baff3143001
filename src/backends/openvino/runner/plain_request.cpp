// A request of a model as it was compiled: OpenVINO's own inputs, outputs and variables.
#include "backends/openvino/runner/plain_request.h"

#include <fmt/format.h>

#include "backends/openvino/runner/tensors.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

/// Memory that a request writes an output to, as large as it turns out.
ov::Tensor growing_tensor(const Ports::Port& port) {
  const ov::PartialShape& shape = port.get_partial_shape();
  if (shape.is_static()) return {port.get_element_type(), shape.to_shape()};
  return {port.get_element_type(), ov::Shape{0}};
}

}  // namespace

PlainRequest::PlainRequest(ov::InferRequest request, const Ports& ports, std::string model)
    : request_(std::move(request)),
      ports_(ports),
      model_(std::move(model)),
      memory_(ports.outputs.size()) {}

void PlainRequest::set_input(size_t input, const ov::Tensor& value) {
  request_.set_tensor(ports_.inputs[input], value);
}

void PlainRequest::set_output(size_t output, const ov::Tensor& memory) {
  memory_[output] = memory;
  if (memory) request_.set_tensor(ports_.outputs[output], memory);
}

void PlainRequest::infer() {
  // What an earlier run gave away must not be written to again.
  for (size_t i = 0; i < memory_.size(); ++i)
    if (!memory_[i]) request_.set_tensor(ports_.outputs[i], growing_tensor(ports_.outputs[i]));
  request_.infer();
}

ov::Tensor PlainRequest::output(size_t output) {
  return request_.get_tensor(ports_.outputs[output]);
}

void PlainRequest::set_state(std::string_view name, const ov::Tensor& value) {
  find_state(name).set_state(value);
}

ov::Tensor PlainRequest::copy_state(std::string_view name) {
  return copy_of(find_state(name).get_state());
}

ov::VariableState PlainRequest::find_state(std::string_view name) {
  for (ov::VariableState& state : request_.query_state())
    if (state.get_name() == name) return state;
  throw Error(kUsage, fmt::format("[openvino] {} has no state {}", model_, name));
}

}  // namespace slipway::openvino_runner

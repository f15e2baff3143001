// A request of a model as it was compiled: OpenVINO's own inputs, outputs and variables.
#pragma once

#include <string>
#include <vector>

#include "backends/openvino/runner/request.h"

namespace slipway::openvino_runner {

/// The ports that a model's inputs and outputs are set by.
struct Ports {
  using Port = ov::Output<const ov::Node>;
  std::vector<Port> inputs, outputs;
};

class PlainRequest final : public Request {
 public:
  /// `ports` must outlive it; `model` is a name for messages.
  PlainRequest(ov::InferRequest request, const Ports& ports, std::string model);

  void set_input(size_t input, const ov::Tensor& value) override;
  void set_output(size_t output, const ov::Tensor& memory) override;
  void infer() override;
  ov::Tensor output(size_t output) override;
  void reset_states() override { request_.reset_state(); }
  void set_state(std::string_view name, const ov::Tensor& value) override;
  ov::Tensor copy_state(std::string_view name) override;

 private:
  ov::VariableState find_state(std::string_view name);

  ov::InferRequest request_;
  const Ports& ports_;
  std::string model_;
  std::vector<ov::Tensor> memory_;  ///< of each output; empty: each run's own
};

}  // namespace slipway::openvino_runner

// What runs a loaded model once after the other, with the states it keeps.
#pragma once

#include <cstddef>
#include <string_view>

#include "backends/openvino/runner/ov.h"

namespace slipway::openvino_runner {

/// One thread at a time. Inputs and outputs are counted in the order of the model's description,
/// optional inputs after the others. Functions throw Error or what OpenVINO throws.
class Request {
 public:
  virtual ~Request() = default;

  /// A view of the caller's memory, read by the runs that follow. Optional inputs have a value.
  virtual void set_input(size_t input, const ov::Tensor& value) = 0;
  /// Where the runs that follow write the output; an empty tensor: each into memory of its own.
  virtual void set_output(size_t output, const ov::Tensor& memory) = 0;
  virtual void infer() = 0;
  /// As the last run left it.
  virtual ov::Tensor output(size_t output) = 0;

  virtual void reset_states() = 0;
  /// The elements are copied. Throw Error{kUsage} for a name that is no state.
  virtual void set_state(std::string_view name, const ov::Tensor& value) = 0;
  virtual ov::Tensor copy_state(std::string_view name) = 0;
};

}  // namespace slipway::openvino_runner

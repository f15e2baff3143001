// The JSON options of a session, turned into ONNX Runtime's.
#pragma once

#include <string_view>
#include <vector>

#include "backends/onnx/runner/library.h"

namespace slipway::onnx_runner {

/// Reads the options described in runtime/abi.h. Throws Error{kUsage} for unknown or malformed
/// ones, Error{kEnvironment} listing what the library has when it lacks a provider.
Ort::SessionOptions session_options(std::string_view json, const Library& library);

}  // namespace slipway::onnx_runner

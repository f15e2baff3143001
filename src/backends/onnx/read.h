// What can be learned from an .onnx file without loading it in a runtime.
#pragma once

#include <filesystem>
#include <string>

#include "base/file_summary.h"
#include "base/lazy.h"

namespace slipway::onnx {

using slipway::FileSummary;
using slipway::FileValue;

/// Reads a file. Throws Error{kInvalid} when it is not an ONNX model, names an external file
/// outside its folder, or is beyond protobuf's limits.
FileSummary read_summary(const std::filesystem::path& path);
/// The same over bytes; `where` is for messages.
FileSummary read_summary(ByteSpan bytes, const std::string& where);

}  // namespace slipway::onnx

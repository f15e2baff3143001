// What can be learned from an .onnx file without loading it in a runtime.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/lazy.h"

namespace slipway::onnx {

struct FileValue {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> dims;  ///< numbers, symbols, or "?"
  bool optional = false;          ///< an input that an initializer has a default for
};

struct FileSummary {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  ///< by domain; "" is ONNX's own
  std::string producer;
  std::vector<FileValue> inputs, outputs;
  std::map<std::string, int64_t> op_counts;  ///< "onnx::MatMul", "com.microsoft::MatMulNBits"
  int64_t initializers = 0;
  std::set<std::string> external_files;  ///< locations that initializers name
  std::map<std::string, std::string> metadata;
  std::string listing;  ///< one line per node
};

/// Reads a file. Throws Error{kInvalid} when it is not an ONNX model, names an external file
/// outside its folder, or is beyond protobuf's limits.
FileSummary read_summary(const std::filesystem::path& path);
/// The same over bytes; `where` is for messages.
FileSummary read_summary(ByteSpan bytes, const std::string& where);

}  // namespace slipway::onnx

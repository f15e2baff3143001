// What can be learned from a program's file without loading it in a runtime.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "slipway/dtype.h"

namespace slipway {

struct FileValue {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> dims;  ///< numbers, symbols, or "?"
  bool optional = false;          ///< an input that the file has a default for
};

/// The outline of a file of any format; what a format does not have stays empty.
struct FileSummary {
  int64_t ir_version = 0;                 ///< of ONNX; the schema's major version of a .pt2
  std::map<std::string, int64_t> opsets;  ///< by domain; "" is ONNX's own
  std::string producer;
  std::vector<FileValue> inputs, outputs;
  std::map<std::string, int64_t> op_counts;  ///< "onnx::MatMul", "aten::linear"
  int64_t initializers = 0;                  ///< weights and constants
  std::set<std::string> external_files;      ///< locations that initializers name
  std::map<std::string, std::string> metadata;
  std::string listing;  ///< one line per node
};

}  // namespace slipway

// The weight files that an ONNX file refers to, found and checked before the runtime opens it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace slipway::onnx_runner {

/// The `location` of each external file that the serialized model refers to, with the number of
/// bytes that it must have. Walks the wire format and skips over weights, so the cost is that of
/// the graph. What is malformed ends the walk: the runtime reports it.
std::map<std::string, uint64_t> external_files(ByteSpan model);

/// A companion file that ONNX Runtime would not open by itself: a link that leads out of the
/// model's folder, as caches and staging folders make them.
struct LinkedFile {
  std::string location;
  std::shared_ptr<const MappedFile> file;
};

/// Checks every companion of the model: its name stays inside the model's folder, it exists, it is
/// long enough. Throws Error{kInvalid} naming the model and the companion.
std::vector<LinkedFile> check_external_files(const std::filesystem::path& model);

}  // namespace slipway::onnx_runner

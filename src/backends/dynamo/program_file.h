// A .pt2 file opened: its program, and its weights and constants as mapped tensors.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends/dynamo/archive.h"
#include "backends/dynamo/schema.h"
#include "base/lazy.h"

namespace slipway::dynamo {

/// Elements of a tensor in an archive: a strided window of one entry. Strides and the offset count
/// elements; every element that they reach lies inside the entry.
struct StoredTensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  Archive::Entry storage;

  /// Whether the elements lie in row-major order without gaps.
  bool contiguous() const;
};

/// A program that torch.export.save wrote. Nothing in it was executed or unpickled.
struct ProgramFile {
  std::shared_ptr<const Archive> archive;
  schema::ExportedProgram program;
  schema::PayloadConfig weights, constants;  ///< sorted by name

  /// Opens a file. Throws Error{kUnsupported} for archives that are not of torch.export.save (a
  /// compiled AOTInductor package, the layout before torch 2.8), for several programs in one
  /// archive and for another schema; Error{kInvalid} for what is damaged.
  static ProgramFile open(const std::filesystem::path& path);

  /// The stored tensor behind a parameter, buffer or constant. Throws Error{kInvalid} when the file
  /// has none of that name or it does not fit its entry, Error{kUnsupported} for pickled contents,
  /// dtypes that we do not have and layouts that are not strided.
  StoredTensor stored(const std::string& name) const;
};

/// A stored tensor as a weight that is read where it lies.
Lazy stored_tensor(const ProgramFile& file, const StoredTensor& tensor);

}  // namespace slipway::dynamo

// The GGUF container (versions 2 and 3): header, metadata and tensor table over mapped bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"
#include "checkpoint/gguf_metadata.h"
#include "slipway/tensor.h"

namespace slipway {

/// One row of the tensor table.
struct GgufTensor {
  std::string name;
  uint32_t type = 0;  ///< a ggml type that gguf_encoding() knows
  Shape shape;        ///< row-major: the file's dimensions reversed
  ByteSpan bytes;     ///< the stored blocks
};

/// A parsed file. Immutable; keeps the bytes' owner alive.
class GgufFile {
 public:
  /// Checks everything that can be checked without decoding weights: magic, version, every count,
  /// length, type and name, the alignment, block-wise tensor sizes, ranges that lie in the file and
  /// do not overlap, and that the file ends where its last tensor ends. Allocates in proportion to
  /// the bytes that are there, whatever the counts say. `owner` keeps `bytes` alive. Throws
  /// Error{kInvalid} naming `where`, and Error{kUnsupported} for big-endian files, version 1, split
  /// files, arrays of arrays and unknown tensor types.
  static std::shared_ptr<const GgufFile> parse(ByteSpan bytes, std::string where,
                                               std::shared_ptr<const void> owner);

  const std::string& where() const { return metadata_.where(); }
  uint32_t version() const { return version_; }
  const GgufMetadata& metadata() const { return metadata_; }
  /// `general.architecture`: "llama", "qwen2". Throws where it is absent.
  std::string_view architecture() const { return metadata_.get_string("general.architecture"); }
  /// In the order of the file.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// Null when there is no such tensor.
  const GgufTensor* find(std::string_view name) const;

 private:
  friend class GgufParser;
  explicit GgufFile(std::string where) : metadata_(std::move(where)) {}

  uint32_t version_ = 0;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> by_name_;  ///< indices of tensors_, sorted by name
  std::shared_ptr<const void> owner_;
};

}  // namespace slipway

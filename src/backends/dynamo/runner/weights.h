// The weights and constants of an archive as tensors over the mapped file.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/dynamo/program_file.h"
#include "backends/dynamo/runner/torch.h"

namespace slipway::dynamo_runner {

/// Where a fully qualified name's tensor lies.
class Weights {
 public:
  /// `written` are the names whose tensors a program changes: they, and what shares an entry with
  /// them, are copies of the session's own.
  Weights(const dynamo::ProgramFile& file, const std::set<std::string>& written);

  /// The tensor of a name, with the strides and the offset that the file states; tensors of one
  /// entry share a storage. Nothing is copied, unless the entry is not aligned to its elements.
  /// Throws Error{kInvalid} for a name without an entry, or a tensor that reaches beyond its entry;
  /// Error{kUnsupported} for one stored as a pickle: nothing in a file is executed.
  at::Tensor load(const std::string& name) const;

 private:
  struct Payload {
    std::string folder;
    dynamo::schema::PayloadMeta meta;
  };
  c10::Storage storage(const Payload& payload, const std::string& name, int64_t alignment) const;

  std::shared_ptr<const dynamo::Archive> archive_;
  std::map<std::string, Payload> payloads_;
  std::set<std::string> state_;                           ///< entries that are copied
  mutable std::map<std::string, c10::Storage> storages_;  ///< by entry
};

}  // namespace slipway::dynamo_runner

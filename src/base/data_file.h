// The layout and streaming of a file of weights beside a graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/lazy.h"

namespace slipway {

/// Places of weights in a data file: in the order of adding, large ones aligned to a page so that
/// runtimes can map them. One Lazy object is stored once. With a limit a weight that would pass it
/// begins another file: `path`, then `path_1`, `path_2`, ...
class DataFile {
 public:
  explicit DataFile(int64_t max_bytes = INT64_MAX) : max_bytes_(max_bytes) {}

  struct Place {
    int64_t offset, length;
    size_t file;  ///< the number of the file
  };

  /// Throws Error{kUnsupported} for a weight that is beyond the limit by itself.
  Place add(const Lazy& weight);
  /// Of all files together.
  int64_t size() const;
  size_t num_files() const { return sizes_.size(); }
  /// "model.onnx_data", "model.onnx_data_1".
  static std::string numbered(const std::string& name, size_t file);

  /// Streams every weight to its file by all cores, a few MiB at a time.
  void write(const std::filesystem::path& path) const;

 private:
  struct Entry {
    Lazy weight;
    Place place;
  };
  std::vector<Entry> entries_;
  std::map<const LazyTensor*, Place> places_;
  int64_t max_bytes_;
  std::vector<int64_t> sizes_;  ///< one per file
};

}  // namespace slipway

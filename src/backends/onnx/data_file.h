// The layout and streaming of external initializer data.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "base/lazy.h"

namespace slipway::onnx {

/// Places of weights in a data file: in the order of adding, large ones aligned to a page so that
/// runtimes can map them. One Lazy object is stored once.
class DataFile {
 public:
  struct Place {
    int64_t offset, length;
  };

  Place add(const Lazy& weight);
  int64_t size() const { return size_; }

  /// Streams every weight to `path` by all cores, a few MiB at a time.
  void write(const std::filesystem::path& path) const;

 private:
  struct Entry {
    Lazy weight;
    Place place;
  };
  std::vector<Entry> entries_;
  std::map<const LazyTensor*, Place> places_;
  int64_t size_ = 0;
};

}  // namespace slipway::onnx

// The segments of a .pte file: which bytes lie where behind the program, and writing them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/lazy.h"

namespace slipway {
class OutputFile;
}

namespace slipway::executorch {

/// A range of the file, relative to the first segment.
struct Segment {
  int64_t offset = 0, size = 0;
};

/// Data that XNNPACK's delegates and other readers find by name. The key of a weight is a digest of
/// its dtype, shape and bytes, so delegates of several methods and files that have it share what
/// the runtime keeps of it.
struct NamedSegment {
  std::string key;
  uint32_t segment = 0;
};

/// Collects what goes into segments, then gives it places. One Lazy object is stored once: a weight
/// that is both a constant and named is a segment inside the segment of constants.
class SegmentTable {
 public:
  /// A constant, or what a mutable buffer begins as.
  void add_constant(const Lazy& data);
  void add_initial(const Lazy& data);
  /// Data under a digest. key() gives the same text for one object.
  void add_named(const Lazy& data);
  /// Bytes without a key, and bytes under a key of their own. Gives the number of the block.
  size_t add_block(std::string bytes, std::string key = {});

  /// The numbers by which tensors name what was added: 1 and up.
  uint32_t constant(const Lazy& data) const { return constant_of_.at(data.get()); }
  uint32_t initial(const Lazy& data) const { return initial_of_.at(data.get()); }
  /// Stands for the key of named data until write() has read them: unique, as long as a key.
  const std::string& key(const Lazy& data) const;
  /// Replaces the bytes of a block by as many others.
  void replace_block(size_t block, std::string bytes);

  /// Gives everything its place. No more can be added.
  void lay_out();
  /// By offset, as files list them.
  const std::vector<Segment>& segments() const { return segments_; }
  uint32_t constant_segment() const { return constant_segment_; }
  uint32_t initial_segment() const { return initial_segment_; }
  uint32_t block_segment(size_t block) const { return blocks_[block].segment; }
  /// Offsets in the segment by number; the first stands for tensors without data.
  const std::vector<uint64_t>& constant_offsets() const { return constant_offsets_; }
  const std::vector<uint64_t>& initial_offsets() const { return initial_offsets_; }
  bool has_initial() const { return !initial_.empty(); }
  /// In the order of adding, each key once.
  std::vector<NamedSegment> named() const;
  int64_t size() const { return size_; }

  /// Streams all weights to the file, the first segment at `base`; then key() gives the digests.
  void write_weights(OutputFile& file, int64_t base);
  /// Writes all blocks.
  void write_blocks(OutputFile& file, int64_t base) const;

 private:
  struct Block {
    std::string bytes, key;
    int64_t offset = 0;
    uint32_t segment = 0;
  };
  struct Weight {
    Lazy data;
    std::string key;  ///< of a named one
    int64_t offset = 0;
    uint32_t segment = 0;  ///< of a named one
  };
  size_t weight(const Lazy& data);
  void finish_segments(std::vector<std::pair<Segment, uint32_t*>> all);

  std::vector<Weight> weights_;
  std::map<const LazyTensor*, size_t> weight_of_;
  std::map<const LazyTensor*, uint32_t> constant_of_, initial_of_;
  std::vector<size_t> constants_, named_;  ///< weights, in order
  std::vector<Lazy> initial_;
  std::vector<int64_t> initial_places_;
  std::vector<Block> blocks_;
  std::vector<Segment> segments_;
  std::vector<uint64_t> constant_offsets_, initial_offsets_;
  uint32_t constant_segment_ = 0, initial_segment_ = 0;
  int64_t size_ = 0;
};

}  // namespace slipway::executorch

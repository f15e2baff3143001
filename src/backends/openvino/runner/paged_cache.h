// The keys and values of rows of tokens in blocks of fixed size, which rows may share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/openvino/runner/ov.h"

namespace slipway::openvino_runner {

/// The keys, or the values, of one layer.
struct PagedTensor {
  std::string state;         ///< the state that it is to callers: [rows, heads, slots, head size]
  std::string input;         ///< of the graph: [blocks, heads, kBlockTokens, head size]
  ov::element::Type stated;  ///< of the state
  ov::element::Type stored;  ///< of the blocks: float32, float16 or bfloat16
  size_t heads, head_size;
};

/// 1 for the tokens that are no padding: [rows, columns].
struct TokenMask {
  const int64_t* data;
  size_t rows, columns;
  bool at(size_t row, size_t column) const { return data[row * columns + column] != 0; }
};

/// A window is counted over the tokens in blocks, so no padding may lie within a row.
enum class Layers { kFull, kWindows };

/// Blocks as PagedAttention reads them (Kwon et al. 2023). Tokens that a mask hides take a slot of
/// a row but no place in a block; as states they are zeros. Rows that continue the same row share
/// its blocks until they write to them.
class PagedCache {
 public:
  static constexpr size_t kBlockTokens = 32;

  /// `tensors` must outlive it.
  PagedCache(const std::vector<PagedTensor>& tensors, Layers layers)
      : tensors_(tensors), layers_(layers) {}

  void reset();
  /// The contents for the next begin(), copied. Throws Error{kInvalid} for another shape or type.
  void set(std::string_view state, const ov::Tensor& contents);
  /// A copy of the contents.
  ov::Tensor get(std::string_view state) const;

  /// Row i continues row beams[i] with the columns of `mask` that come last, `count` of them; those
  /// before them must be the slots that the row has. Throws Error{kInvalid} where they are not,
  /// where the mask shows a slot that was hidden when it was read, or where padding lies within a
  /// row of a graph with windows.
  void begin(const TokenMask& mask, size_t count, std::span<const int32_t> beams);
  /// Tokens that the row has in blocks.
  size_t tokens(size_t row) const { return rows_[row].tokens; }
  /// The blocks of so many more tokens, the row's own ones where they are to be written.
  std::span<const int32_t> reserve(size_t row, size_t more);
  /// They were written: the last `count` columns of the mask.
  void commit(const TokenMask& mask, size_t count);

  /// Blocks in memory that reserve() may replace; number i belongs to tensors[i].
  const std::vector<ov::Tensor>& blocks() const { return blocks_; }
  /// Grows with each replacement of blocks().
  uint64_t version() const { return version_; }

 private:
  struct Row {
    std::vector<uint8_t> visible;  ///< by slot
    std::vector<int32_t> blocks;
    size_t tokens = 0;
  };

  void check_windows(const TokenMask& mask) const;
  size_t find(std::string_view state) const;
  size_t slots() const;
  void import(const TokenMask& mask, size_t past, std::span<const int32_t> beams);
  void reorder(std::span<const int32_t> beams);
  ov::Tensor contents(size_t tensor) const;
  int32_t take_block();
  void grow();
  void release(const Row& row);
  std::byte* block(size_t tensor, int32_t at) const;
  size_t block_bytes(size_t tensor) const;

  const std::vector<PagedTensor>& tensors_;
  Layers layers_;
  std::vector<Row> rows_;
  std::vector<ov::Tensor> pending_;  ///< what set() was given; empty: as it is
  std::vector<ov::Tensor> blocks_;
  std::vector<int32_t> uses_, free_;  ///< by block; blocks that had a use
  size_t capacity_ = 0;               ///< blocks in memory
  uint64_t version_ = 0;
};

}  // namespace slipway::openvino_runner

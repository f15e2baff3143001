// Attention masks as a graph wants them, kept from call to call.
#pragma once

#include <cstdint>
#include <optional>

#include "generation/cache_buffers.h"
#include "generation/decoder_graphs.h"
#include "generation/token_rows.h"

namespace slipway {

/// A mask of rank 2, [batch, total]: 1 for tokens that are no padding.
class PaddingMask {
 public:
  explicit PaddingMask(DType dtype) : dtype_(dtype) {}
  /// The mask of the first `total` tokens; valid until the next call.
  const void* update(const TokenRows& rows, int64_t total);

 private:
  DType dtype_;
  Block block_;
  int64_t ones_ = 0;  ///< so many elements at the beginning are 1
};

/// A mask of rank 4, [batch, 1, tokens, slots]: whether the query may look at the key. True where
/// the key is no padding, not later than the query, and less than a window away from it.
class VisibilityMask {
 public:
  explicit VisibilityMask(std::optional<int64_t> window) : window_(window) {}
  /// The mask of `count` queries from slot `begin` on; valid until the next call. One query after
  /// the one before changes two elements a row.
  const void* update(const TokenRows& rows, int64_t begin, int64_t count, int64_t slots);

 private:
  void write_row(const TokenRows& rows, int64_t row, int64_t query, int64_t slots, uint8_t* out);

  std::optional<int64_t> window_;
  Block one_, many_;                               ///< for a single query, and for several
  int64_t version_ = -1, query_ = -1, slots_ = 0;  ///< what one_ holds
};

}  // namespace slipway

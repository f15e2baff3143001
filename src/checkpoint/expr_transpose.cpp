// The lazy transpose of a matrix: source columns gathered in tiles.
#include <algorithm>
#include <cstring>
#include <vector>

#include "checkpoint/expr.h"
#include "checkpoint/expr_intern.h"

namespace slipway {
namespace {

constexpr int64_t kTileRows = 32;
constexpr int64_t kTileColumns = 256;
constexpr int64_t kGranuleBytes = int64_t{8} << 20;

/// tile[rows][width] -> out[width][stride], `rows` elements to each output row.
template <class T>
void scatter(const std::byte* tile, int64_t rows, int64_t width, std::byte* out, int64_t stride) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  for (int64_t c = 0; c < width; ++c) {
    const std::byte* from = tile + c * kSize;
    std::byte* to = out + c * stride * kSize;
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * kSize, from + r * width * kSize, sizeof(T));
  }
}

class Transpose final : public LazyTensor {
 public:
  explicit Transpose(Lazy x)
      : LazyTensor(x->dtype(), {x->shape()[1], x->shape()[0]}),
        x_(std::move(x)),
        rows_(x_->shape()[0]),
        columns_(x_->shape()[1]),
        width_(tile_width()) {}

  void read(int64_t begin, int64_t count, std::byte* out) const override {
    SLIPWAY_ASSERT(begin >= 0 && count >= 0 && begin <= numel() - count);
    const int64_t size = itemsize(dtype());
    std::vector<std::byte> tile(static_cast<size_t>(kTileRows * std::min(width_, columns_) * size));
    while (count > 0) {
      const int64_t column = begin / rows_, row = begin % rows_;
      int64_t n = std::min(count, rows_ - row), width = 1, height = n;
      if (row == 0 && count >= rows_) {  // whole output rows, up to the end of a tile
        width = std::min({count / rows_, width_ - column % width_, columns_ - column});
        height = rows_;
        n = width * height;
      }
      gather(row, height, column, width, out, tile.data());
      out += n * size;
      begin += n;
      count -= n;
    }
  }

  int64_t granularity() const override { return std::max<int64_t>(1, rows_ * width_); }

 private:
  /// Source columns to a tile: whole source granules where a range of output rows stays small.
  int64_t tile_width() const {
    const int64_t grain = std::max<int64_t>(1, x_->granularity());
    const int64_t column_bytes = std::max<int64_t>(1, rows_ * itemsize(dtype()));
    int64_t width = std::clamp<int64_t>(kGranuleBytes / column_bytes, 16, kTileColumns);
    if (width >= grain) width -= width % grain;
    return width;
  }

  /// Source [row, row + height) x [column, column + width) to out[width][height].
  void gather(int64_t row, int64_t height, int64_t column, int64_t width, std::byte* out,
              std::byte* tile) const {
    const int64_t size = itemsize(dtype());
    for (int64_t r = 0; r < height; r += kTileRows) {
      const int64_t n = std::min(kTileRows, height - r);
      for (int64_t i = 0; i < n; ++i)
        x_->read((row + r + i) * columns_ + column, width, tile + i * width * size);
      std::byte* to = out + r * size;
      switch (size) {
        case 1:
          scatter<uint8_t>(tile, n, width, to, height);
          break;
        case 2:
          scatter<uint16_t>(tile, n, width, to, height);
          break;
        case 4:
          scatter<uint32_t>(tile, n, width, to, height);
          break;
        default:
          scatter<uint64_t>(tile, n, width, to, height);
          break;
      }
    }
  }

  Lazy x_;
  int64_t rows_, columns_, width_;
};

}  // namespace

Lazy lazy_transpose2d(Lazy x) {
  SLIPWAY_ASSERT(x != nullptr && x->shape().size() == 2);
  return interned(*x, "transposed", [&] { return std::make_shared<Transpose>(x); });
}

}  // namespace slipway

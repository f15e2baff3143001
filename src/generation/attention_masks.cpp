// Attention masks as a graph wants them, kept from call to call.
#include "generation/attention_masks.h"

#include <algorithm>
#include <cstring>

namespace slipway {
namespace {

/// The integers 0 and 1 of a size, whatever their sign.
template <class F>
void visit_size(size_t bytes, std::byte* data, F f) {
  if (bytes == 1) return f(reinterpret_cast<uint8_t*>(data));
  if (bytes == 2) return f(reinterpret_cast<uint16_t*>(data));
  if (bytes == 4) return f(reinterpret_cast<uint32_t*>(data));
  f(reinterpret_cast<uint64_t*>(data));
}

size_t as_size(int64_t value) { return static_cast<size_t>(value); }

}  // namespace

const void* PaddingMask::update(const TokenRows& rows, int64_t total) {
  const size_t width = static_cast<size_t>(itemsize(dtype_));
  const int64_t count = rows.batch() * total;
  if (const size_t need = as_size(count) * width; need > block_.bytes()) {
    block_.reserve(need * 2);
    ones_ = 0;
  }
  if (rows.has_padding()) {
    visit_size(width, block_.data(), [&](auto* out) {
      for (int64_t row = 0; row < rows.batch(); ++row, out += total) {
        const int64_t pads = std::min(rows.pads(row), total);
        std::fill(out, out + pads, 0);
        std::fill(out + pads, out + total, 1);
      }
    });
    ones_ = 0;
  } else if (count > ones_) {
    visit_size(width, block_.data(), [&](auto* out) { std::fill(out + ones_, out + count, 1); });
    ones_ = count;
  }
  return block_.data();
}

void VisibilityMask::write_row(const TokenRows& rows, int64_t row, int64_t query, int64_t slots,
                               uint8_t* out) {
  const int64_t first = std::max(rows.pads(row), window_ ? query - *window_ + 1 : int64_t{0});
  std::memset(out, 0, as_size(slots));
  if (first <= query) std::memset(out + first, 1, as_size(query + 1 - first));
}

const void* VisibilityMask::update(const TokenRows& rows, int64_t begin, int64_t count,
                                   int64_t slots) {
  const int64_t batch = rows.batch();
  Block& block = count == 1 ? one_ : many_;
  const size_t need = as_size(batch * count * slots);
  const bool follows = count == 1 && version_ == rows.version() && begin == query_ + 1 &&
                       slots == slots_ && need <= block.bytes();
  block.reserve(need);
  auto* out = reinterpret_cast<uint8_t*>(block.data());
  for (int64_t row = 0; row < batch; ++row)
    for (int64_t query = begin; query < begin + count; ++query, out += slots) {
      if (!follows) {
        write_row(rows, row, query, slots, out);
        continue;
      }
      if (query >= rows.pads(row)) out[query] = 1;
      if (window_ && query >= *window_) out[query - *window_] = 0;
    }
  if (count == 1) version_ = rows.version(), query_ = begin, slots_ = slots;
  return block.data();
}

}  // namespace slipway

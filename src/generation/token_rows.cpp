// What a batch of sequences has read so far: how many tokens, and which of them are padding.
#include "generation/token_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway {

bool TokenRows::has_padding() const {
  return std::any_of(pads_.begin(), pads_.end(), [](int64_t pads) { return pads != 0; });
}

void TokenRows::check(const Tensor& ids, const Tensor& mask) const {
  const auto fail = [](const std::string& what) { throw Error(kInvalid, "[decoder] " + what); };
  if (!ids.defined() || !mask.defined() || ids.dtype() != DType::kI64 ||
      mask.dtype() != DType::kI64)
    fail("the ids and the mask must be int64 tensors");
  if (ids.rank() != 2 || ids.numel() == 0)
    fail(fmt::format("the ids have shape {}, need [batch, tokens] with at least one token",
                     shape_string(ids.shape())));
  if (mask.shape() != ids.shape())
    fail(fmt::format("the mask has shape {}, the ids {}; both must be equal",
                     shape_string(mask.shape()), shape_string(ids.shape())));
  if (!pads_.empty() && ids.dim(0) != batch())
    fail(fmt::format("got {} rows, the cache holds {}; reset it first", ids.dim(0), batch()));
  const auto count = static_cast<size_t>(ids.dim(1));
  const auto values = mask.values<int64_t>();
  for (size_t row = 0; row < static_cast<size_t>(ids.dim(0)); ++row) {
    bool real = !pads_.empty() && pads_[row] < length_;
    for (size_t i = 0; i < count; ++i) {
      const int64_t value = values[row * count + i];
      if (value != 0 && value != 1)
        fail(fmt::format("the mask is {} for token {} of row {}, need 0 or 1", value, i, row));
      if (value == 0 && real)
        fail(
            fmt::format("the mask is 0 for token {} of row {}, behind tokens that count; rows are "
                        "padded on the left",
                        i, row));
      real = value == 1;
    }
  }
}

void TokenRows::append(const Tensor& mask) {
  if (pads_.empty()) pads_.assign(static_cast<size_t>(mask.dim(0)), 0);
  const auto count = static_cast<size_t>(mask.dim(1));
  const auto values = mask.values<int64_t>();
  for (size_t row = 0; row < pads_.size(); ++row) {
    if (pads_[row] < length_) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * count);
    pads_[row] += std::find(begin, begin + static_cast<std::ptrdiff_t>(count), 1) - begin;
  }
  length_ += mask.dim(1);
}

void TokenRows::reset() {
  pads_.clear();
  length_ = 0;
  ++version_;
}

void TokenRows::crop(int64_t length) {
  if (length < 0 || length > length_)
    throw Error(kInvalid,
                fmt::format("[decoder] cannot crop to {} tokens, there are {}", length, length_));
  length_ = length;
  for (int64_t& pads : pads_) pads = std::min(pads, length);
  ++version_;
}

void TokenRows::reorder(std::span<const int64_t> rows) {
  if (rows.empty()) throw Error(kInvalid, "[decoder] reorder needs at least one row");
  std::vector<int64_t> pads;
  for (const int64_t row : rows) {
    if (row < 0 || row >= batch())
      throw Error(kInvalid,
                  fmt::format("[decoder] there is no row {}, there are {}", row, batch()));
    pads.push_back(pads_[static_cast<size_t>(row)]);
  }
  pads_ = std::move(pads);
  ++version_;
}

void TokenRows::write_positions(int64_t begin, int64_t count, int64_t* out) const {
  for (const int64_t pads : pads_)
    for (int64_t i = begin; i < begin + count; ++i) *out++ = std::max<int64_t>(0, i - pads);
}

}  // namespace slipway

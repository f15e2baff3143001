// The keys and values of rows of tokens in blocks of fixed size, which rows may share.
#include "backends/openvino/runner/paged_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/openvino/runner/tensors.h"
#include "slipway/error.h"

namespace slipway::openvino_runner {
namespace {

constexpr size_t kFirstBlocks = 32;

float load(const std::byte* at, ov::element::Type type) {
  if (type == ov::element::f32) return *reinterpret_cast<const float*>(at);
  if (type == ov::element::f16) return *reinterpret_cast<const ov::float16*>(at);
  return *reinterpret_cast<const ov::bfloat16*>(at);
}

void store(std::byte* at, ov::element::Type type, float value) {
  if (type == ov::element::f32) *reinterpret_cast<float*>(at) = value;
  else if (type == ov::element::f16) *reinterpret_cast<ov::float16*>(at) = ov::float16(value);
  else *reinterpret_cast<ov::bfloat16*>(at) = ov::bfloat16(value);
}

void convert(const std::byte* from, ov::element::Type from_type, std::byte* to,
             ov::element::Type to_type, size_t count) {
  if (from_type == to_type) {
    std::memcpy(to, from, count * to_type.size());
    return;
  }
  for (size_t i = 0; i < count; ++i)
    store(to + i * to_type.size(), to_type, load(from + i * from_type.size(), from_type));
}

std::byte* bytes_of(const ov::Tensor& tensor) {
  return static_cast<std::byte*>(const_cast<void*>(std::as_const(tensor).data()));
}

}  // namespace

size_t PagedCache::find(std::string_view state) const {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].state == state) return i;
  throw Error(kUsage, fmt::format("[openvino] there is no state {}", state));
}

size_t PagedCache::slots() const { return rows_.empty() ? 0 : rows_[0].visible.size(); }

size_t PagedCache::block_bytes(size_t tensor) const {
  const PagedTensor& t = tensors_[tensor];
  return t.heads * kBlockTokens * t.head_size * t.stored.size();
}

std::byte* PagedCache::block(size_t tensor, int32_t at) const {
  return bytes_of(blocks_[tensor]) + static_cast<size_t>(at) * block_bytes(tensor);
}

void PagedCache::reset() {
  for (const Row& row : rows_) release(row);
  rows_.clear();
  pending_.clear();
}

void PagedCache::release(const Row& row) {
  // The first one is taken first again: rows lie in order.
  for (size_t i = row.blocks.size(); i-- > 0;)
    if (--uses_[static_cast<size_t>(row.blocks[i])] == 0) free_.push_back(row.blocks[i]);
}

int32_t PagedCache::take_block() {
  if (!free_.empty()) {
    const int32_t at = free_.back();
    free_.pop_back();
    uses_[static_cast<size_t>(at)] = 1;
    return at;
  }
  if (uses_.size() == capacity_) grow();
  const auto at = static_cast<int32_t>(uses_.size());
  uses_.push_back(1);
  // A product with probabilities of zero reads what lies behind a row's last token.
  for (size_t i = 0; i < tensors_.size(); ++i) std::memset(block(i, at), 0, block_bytes(i));
  return at;
}

void PagedCache::grow() {
  // Memory that is not written yet is none.
  const size_t capacity = std::max(kFirstBlocks, 2 * capacity_);
  std::vector<ov::Tensor> grown;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const PagedTensor& t = tensors_[i];
    grown.emplace_back(t.stored, ov::Shape{capacity, t.heads, kBlockTokens, t.head_size});
    if (capacity_ > 0) std::memcpy(grown[i].data(), blocks_[i].data(), capacity_ * block_bytes(i));
  }
  blocks_ = std::move(grown);
  capacity_ = capacity;
  ++version_;
}

std::span<const int32_t> PagedCache::reserve(size_t at, size_t more) {
  Row& row = rows_[at];
  const size_t need = (row.tokens + more + kBlockTokens - 1) / kBlockTokens;
  for (size_t i = row.tokens / kBlockTokens; i < need; ++i) {
    if (i >= row.blocks.size()) {
      row.blocks.push_back(take_block());
      continue;
    }
    const int32_t shared = row.blocks[i];
    if (uses_[static_cast<size_t>(shared)] == 1) continue;
    const int32_t own = take_block();
    for (size_t t = 0; t < tensors_.size(); ++t)
      std::memcpy(block(t, own), block(t, shared), block_bytes(t));
    --uses_[static_cast<size_t>(shared)];
    row.blocks[i] = own;
  }
  return {row.blocks.data(), need};
}

void PagedCache::commit(const TokenMask& mask, size_t count) {
  for (size_t row = 0; row < rows_.size(); ++row)
    for (size_t column = mask.columns - count; column < mask.columns; ++column) {
      const bool visible = mask.at(row, column);
      rows_[row].visible.push_back(visible ? 1 : 0);
      rows_[row].tokens += visible ? 1 : 0;
    }
}

ov::Tensor PagedCache::contents(size_t tensor) const {
  const PagedTensor& t = tensors_[tensor];
  const size_t all = slots(), from = t.head_size * t.stored.size(),
               to = t.head_size * t.stated.size();
  ov::Tensor result(t.stated, {rows_.size(), t.heads, all, t.head_size});
  std::memset(result.data(), 0, result.get_byte_size());
  for (size_t r = 0; r < rows_.size(); ++r)
    for (size_t slot = 0, token = 0; slot < all; ++slot) {
      if (rows_[r].visible[slot] == 0) continue;
      const std::byte* in = block(tensor, rows_[r].blocks[token / kBlockTokens]);
      for (size_t h = 0; h < t.heads; ++h)
        convert(in + (h * kBlockTokens + token % kBlockTokens) * from, t.stored,
                bytes_of(result) + ((r * t.heads + h) * all + slot) * to, t.stated, t.head_size);
      ++token;
    }
  return result;
}

ov::Tensor PagedCache::get(std::string_view state) const {
  const size_t at = find(state);
  return pending_.empty() || !pending_[at] ? contents(at) : copy_of(pending_[at]);
}

void PagedCache::set(std::string_view state, const ov::Tensor& value) {
  const size_t at = find(state);
  const PagedTensor& t = tensors_[at];
  const ov::Shape& shape = value.get_shape();
  if (shape.size() != 4 || shape[1] != t.heads || shape[3] != t.head_size ||
      value.get_element_type() != t.stated)
    throw Error(kInvalid,
                fmt::format("[openvino] the state {} got {} {}, need {} [rows, {}, slots, {}]",
                            state, value.get_element_type().get_type_name(), shape.to_string(),
                            t.stated.get_type_name(), t.heads, t.head_size));
  pending_.resize(tensors_.size());
  pending_[at] = copy_of(value);
}

void PagedCache::import(const TokenMask& mask, size_t past, std::span<const int32_t> beams) {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!pending_[i]) pending_[i] = contents(i);
  const std::vector<ov::Tensor> given = std::move(pending_);
  reset();
  const size_t sources = given[0].get_shape()[0];
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const ov::Shape& shape = given[i].get_shape();
    const bool fits = shape[0] == sources && shape[2] == past;
    if (!fits)
      throw Error(kInvalid,
                  fmt::format("[openvino] the state {} is {}, need {} rows and the {} slots that "
                              "attention_mask has before the new tokens",
                              tensors_[i].state, shape.to_string(), sources, past));
  }
  rows_.resize(mask.rows);
  for (size_t r = 0; r < mask.rows; ++r) {
    const auto source = static_cast<size_t>(beams[r]);
    if (past > 0 && (beams[r] < 0 || source >= sources))
      throw Error(kInvalid, fmt::format("[openvino] beam_idx names row {}, the states have {}",
                                        beams[r], sources));
    Row& row = rows_[r];
    for (size_t slot = 0; slot < past; ++slot) {
      row.visible.push_back(mask.at(r, slot) ? 1 : 0);
      if (row.visible.back() == 0) continue;
      const int32_t at = reserve(r, 1).back();
      for (size_t i = 0; i < tensors_.size(); ++i) {
        const PagedTensor& t = tensors_[i];
        const size_t from = t.head_size * t.stated.size(), to = t.head_size * t.stored.size();
        for (size_t h = 0; h < t.heads; ++h)
          convert(bytes_of(given[i]) + ((source * t.heads + h) * past + slot) * from, t.stated,
                  block(i, at) + (h * kBlockTokens + row.tokens % kBlockTokens) * to, t.stored,
                  t.head_size);
      }
      ++row.tokens;
    }
  }
}

void PagedCache::reorder(std::span<const int32_t> beams) {
  bool same = beams.size() == rows_.size();
  for (size_t i = 0; i < beams.size(); ++i) {
    if (beams[i] < 0 || static_cast<size_t>(beams[i]) >= rows_.size())
      throw Error(kInvalid, fmt::format("[openvino] beam_idx names row {}, the states have {}",
                                        beams[i], rows_.size()));
    same = same && static_cast<size_t>(beams[i]) == i;
  }
  if (same) return;
  std::vector<Row> next;
  for (const int32_t beam : beams) {
    next.push_back(rows_[static_cast<size_t>(beam)]);
    for (const int32_t at : next.back().blocks) ++uses_[static_cast<size_t>(at)];
  }
  for (const Row& row : rows_) release(row);
  rows_ = std::move(next);
}

void PagedCache::check_windows(const TokenMask& mask) const {
  for (size_t r = 0; r < mask.rows; ++r)
    for (size_t column = 1, runs = mask.at(r, 0) ? 1 : 0; column < mask.columns; ++column)
      if (mask.at(r, column) && !mask.at(r, column - 1) && ++runs > 1)
        throw Error(
            kInvalid,
            fmt::format("[openvino] attention_mask hides slots within row {} up to slot {}, "
                        "and windows of paged attention count without them; use the "
                        "session option ATTENTION_BACKEND=SDPA",
                        r, column));
}

void PagedCache::begin(const TokenMask& mask, size_t count, std::span<const int32_t> beams) {
  const size_t past = mask.columns - count;
  if (layers_ == Layers::kWindows) check_windows(mask);
  if (!pending_.empty()) return import(mask, past, beams);
  if (rows_.empty()) rows_.resize(mask.rows);
  else reorder(beams);
  if (slots() != past)
    throw Error(kInvalid, fmt::format("[openvino] attention_mask has {} columns, need {}: the "
                                      "states have {} slots, and {} tokens are new",
                                      mask.columns, slots() + count, slots(), count));
  bool hides = false;
  for (size_t r = 0; r < mask.rows; ++r)
    for (size_t slot = 0; slot < past; ++slot) {
      const bool was = rows_[r].visible[slot] != 0, is = mask.at(r, slot);
      if (is && !was)
        throw Error(kInvalid,
                    fmt::format("[openvino] attention_mask shows slot {} of row {}, which was "
                                "hidden when it was read, so paged attention has not kept it; use "
                                "the session option ATTENTION_BACKEND=SDPA",
                                slot, r));
      hides = hides || (was && !is);
    }
  if (!hides) return;
  std::vector<int32_t> own(mask.rows);
  for (size_t r = 0; r < own.size(); ++r) own[r] = static_cast<int32_t>(r);
  pending_.resize(tensors_.size());
  import(mask, past, own);
}

}  // namespace slipway::openvino_runner

// A state of a decoder whose keys and values lie in slots that every call fills in place.
#include "generation/static_state.h"

#include <algorithm>
#include <cstring>

namespace slipway {

StaticState::StaticState(std::shared_ptr<const Decoder> decoder, int64_t slots)
    : BatchState(std::move(decoder), slots), buffers_(this->decoder().step.caches.size()) {}

StaticState::StaticState(const StaticState& other)
    : BatchState(other), buffers_(other.buffers_.size()) {
  if (rows().batch() == 0) return;
  make_room(rows().batch());
  used_ = rows().length();
  for (size_t i = 0; i < buffers_.size(); ++i)
    for (size_t row = 0; row < static_cast<size_t>(batch_); ++row)
      for (size_t head = 0; head < lines(i).heads; ++head)
        std::memcpy(lines(i).line(row, head), other.lines(i).line(row, head),
                    static_cast<size_t>(used_) * slot_bytes(i));
}

std::unique_ptr<DecoderState> StaticState::copy() const {
  return std::unique_ptr<DecoderState>(new StaticState(*this));
}

size_t StaticState::slot_bytes(size_t tensor) const {
  const CacheTensor& cache = decoder().step.caches[tensor];
  return static_cast<size_t>(cache.head_dim * itemsize(cache.dtype));
}

CacheLines StaticState::lines(size_t tensor) const {
  return {buffers_[tensor].data(), static_cast<size_t>(decoder().step.caches[tensor].heads),
          static_cast<size_t>(*slots()) * slot_bytes(tensor)};
}

std::vector<std::pair<std::string, Tensor>> StaticState::cache() const {
  std::vector<std::pair<std::string, Tensor>> views;
  for (size_t i = 0; i < buffers_.size() && rows().length() > 0; ++i) {
    const CacheTensor& cache = decoder().step.caches[i];
    views.emplace_back(cache.leaf, buffers_[i].tensor(cache.dtype, {batch_, cache.heads, *slots(),
                                                                    cache.head_dim}));
  }
  return views;
}

void StaticState::make_room(int64_t batch) {
  if (batch == batch_) return;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const CacheTensor& cache = decoder().step.caches[i];
    const int64_t elements = numel(Shape{batch, cache.heads, *slots(), cache.head_dim});
    buffers_[i].reserve(static_cast<size_t>(elements * itemsize(cache.dtype)), Fill::kZero);
  }
  batch_ = batch;
  prompt_bound_ = step_bound_ = false;
}

void StaticState::bind(DecoderCall& call) {
  bool& bound = &call == &prompt_call() ? prompt_bound_ : step_bound_;
  if (bound) return;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const CacheTensor& cache = call.graph().caches[i];
    const int64_t shape[] = {batch_, cache.heads, *slots(), cache.head_dim};
    if (call.graph().takes_cache())
      call.call().set_input(call.cache_input(i), cache.dtype, shape, buffers_[i].data());
    call.call().set_output(call.cache_output(i), cache.dtype, shape, buffers_[i].data());
  }
  bound = true;
}

Tensor StaticState::run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) {
  DecoderCall& call = past == 0 ? prompt_call() : step_call();
  make_room(rows().batch());
  bind(call);
  used_ = std::max(used_, past + tokens.count);
  return call.run(rows(), tokens, past, *slots(), keep);
}

void StaticState::clear_slots(int64_t begin, int64_t end) {
  for (size_t i = 0; i < buffers_.size(); ++i)
    for (size_t row = 0; row < static_cast<size_t>(batch_); ++row)
      for (size_t head = 0; head < lines(i).heads; ++head)
        std::memset(lines(i).line(row, head) + static_cast<size_t>(begin) * slot_bytes(i), 0,
                    static_cast<size_t>(end - begin) * slot_bytes(i));
}

void StaticState::reset_cache() {
  clear_slots(0, used_);
  used_ = 0;
}

void StaticState::crop_cache(int64_t) {
  clear_slots(rows().length(), used_);
  used_ = rows().length();
}

void StaticState::reorder_cache(std::span<const int64_t> source) {
  const auto batch = static_cast<int64_t>(source.size());
  std::vector<int64_t> from, to;  // rows that are not in their place already
  for (int64_t row = 0; row < batch; ++row) {
    if (batch == batch_ && source[static_cast<size_t>(row)] == row) continue;
    from.push_back(source[static_cast<size_t>(row)]);
    to.push_back(row);
  }
  const std::vector<Block> old = buffers_;  // keeps the memory that make_room() replaces
  std::vector<CacheLines> old_lines;
  for (size_t i = 0; i < buffers_.size(); ++i) old_lines.push_back(lines(i));
  const int64_t old_batch = batch_;
  make_room(batch);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const size_t used = static_cast<size_t>(used_) * slot_bytes(i);
    const CacheLines now = lines(i), before = old_lines[i];
    scratch_.reserve(from.size() * now.heads * used);
    const CacheLines held{scratch_.data(), now.heads, used};
    copy_rows(before, from, held, used);
    // A smaller batch leaves rows behind that a larger one would find.
    if (now.data == before.data)
      for (int64_t row = batch; row < old_batch; ++row)
        for (size_t head = 0; head < now.heads; ++head)
          std::memset(before.line(static_cast<size_t>(row), head), 0, used);
    for (size_t k = 0; k < to.size(); ++k)
      for (size_t head = 0; head < now.heads; ++head)
        std::memcpy(now.line(static_cast<size_t>(to[k]), head), held.line(k, head), used);
  }
}

}  // namespace slipway

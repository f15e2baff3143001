// A state of a decoder whose keys and values grow with every call.
#include "generation/growing_state.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/system_memory.h"

namespace slipway {
namespace {

/// Slots to make room for when `need` do not fit any more.
int64_t roomy(int64_t need) { return (need + std::max<int64_t>(need, 128) + 63) / 64 * 64; }

}  // namespace

GrowingState::GrowingState(std::shared_ptr<const Decoder> decoder)
    : BatchState(std::move(decoder)), buffers_(this->decoder().step.caches.size()) {}

GrowingState::GrowingState(const GrowingState& other)
    : BatchState(other), buffers_(other.buffers_.size()) {
  const int64_t length = rows().length();
  for (size_t i = 0; i < buffers_.size() && length > 0; ++i) {
    const size_t lines = static_cast<size_t>(rows().batch() * decoder().step.caches[i].heads);
    buffers_[i].now.reserve(lines * line_bytes(i, roomy(length)));
    std::memcpy(buffers_[i].now.data(), other.buffers_[i].now.data(),
                lines * line_bytes(i, length));
  }
}

std::unique_ptr<DecoderState> GrowingState::copy() const {
  return std::unique_ptr<DecoderState>(new GrowingState(*this));
}

size_t GrowingState::line_bytes(size_t tensor, int64_t slots) const {
  const CacheTensor& cache = decoder().step.caches[tensor];
  return static_cast<size_t>(slots * cache.head_dim * itemsize(cache.dtype));
}

std::vector<std::pair<std::string, Tensor>> GrowingState::cache() const {
  std::vector<std::pair<std::string, Tensor>> views;
  for (size_t i = 0; i < buffers_.size() && rows().length() > 0; ++i) {
    const CacheTensor& cache = decoder().step.caches[i];
    const Shape shape = {rows().batch(), cache.heads, rows().length(), cache.head_dim};
    views.emplace_back(cache.leaf, buffers_[i].now.tensor(cache.dtype, shape));
  }
  return views;
}

void GrowingState::check_room(const DecoderGraph& graph, int64_t total) const {
  uint64_t more = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const uint64_t need =
        static_cast<uint64_t>(rows().batch() * graph.caches[i].heads) * line_bytes(i, total);
    if (need > buffers_[i].next.bytes()) more += need - buffers_[i].next.bytes();
  }
  check_memory(more, "decoder", "the cache");
}

void GrowingState::set_caches(DecoderCall& call, int64_t past, int64_t total) {
  const bool fed = last_ == &call;
  last_ = nullptr;
  RepeatedCall& run = call.call();
  check_room(call.graph(), total);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const CacheTensor& cache = call.graph().caches[i];
    int64_t shape[] = {rows().batch(), cache.heads, past, cache.head_dim};
    // The memory that the last call wrote to is known to the runtime already.
    if (fed) run.feed_back(call.cache_output(i), call.cache_input(i));
    else if (call.graph().takes_cache())
      run.set_input(call.cache_input(i), cache.dtype, shape, buffers_[i].now.data());
    const size_t lines = static_cast<size_t>(shape[0] * shape[1]);
    Block& next = buffers_[i].next;
    if (lines * line_bytes(i, total) > next.bytes())
      next.reserve(lines * line_bytes(i, roomy(total)));
    shape[2] = total;
    run.set_output(call.cache_output(i), cache.dtype, shape, next.data());
  }
}

Tensor GrowingState::run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) {
  DecoderCall& call = past == 0 ? prompt_call() : step_call();
  const int64_t total = past + tokens.count;
  set_caches(call, past, total);
  Tensor logits = call.run(rows(), tokens, past, total, keep);
  for (Pair& pair : buffers_) std::swap(pair.now, pair.next);
  if (call.graph().takes_cache()) last_ = &call;
  return logits;
}

void GrowingState::reset_cache() { last_ = nullptr; }

void GrowingState::reorder_cache(std::span<const int64_t> source) {
  last_ = nullptr;
  const int64_t length = rows().length();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const CacheTensor& cache = decoder().step.caches[i];
    const size_t line = line_bytes(i, length);
    const size_t need = source.size() * static_cast<size_t>(cache.heads) * line;
    Pair& pair = buffers_[i];
    if (need > pair.next.bytes()) pair.next.reserve(need * 2);
    const auto heads = static_cast<size_t>(cache.heads);
    copy_rows({pair.now.data(), heads, line}, source, {pair.next.data(), heads, line}, line);
    std::swap(pair.now, pair.next);
  }
}

void GrowingState::crop_cache(int64_t before) {
  last_ = nullptr;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const size_t from = line_bytes(i, before), to = line_bytes(i, rows().length());
    const size_t lines = static_cast<size_t>(rows().batch() * decoder().step.caches[i].heads);
    std::byte* data = buffers_[i].now.data();
    for (size_t line = 1; line < lines; ++line)
      std::memmove(data + line * to, data + line * from, to);
  }
}

}  // namespace slipway

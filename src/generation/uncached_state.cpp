// A state of a decoder without a cache: every call runs the whole sequence again.
#include "generation/uncached_state.h"

namespace slipway {

UncachedState::UncachedState(std::shared_ptr<const Decoder> decoder)
    : BatchState(std::move(decoder)) {}

std::unique_ptr<DecoderState> UncachedState::copy() const {
  return std::make_unique<UncachedState>(*this);
}

int64_t UncachedState::piece_size(int64_t, int64_t count) const { return count; }

Tensor UncachedState::run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) {
  ids_.resize(static_cast<size_t>(rows().batch()));
  flat_.clear();
  for (size_t row = 0; row < ids_.size(); ++row) {
    const int64_t* begin = tokens.ids + static_cast<int64_t>(row) * tokens.stride;
    ids_[row].insert(ids_[row].end(), begin, begin + tokens.count);
    flat_.insert(flat_.end(), ids_[row].begin(), ids_[row].end());
  }
  const int64_t total = past + tokens.count;
  return prompt_call().run(rows(), {flat_.data(), total, total}, 0, total, keep);
}

void UncachedState::reset_cache() { ids_.clear(); }

void UncachedState::reorder_cache(std::span<const int64_t> source) {
  std::vector<std::vector<int64_t>> moved;
  for (const int64_t row : source) moved.push_back(ids_[static_cast<size_t>(row)]);
  ids_ = std::move(moved);
}

void UncachedState::crop_cache(int64_t) {
  for (auto& row : ids_) row.resize(static_cast<size_t>(rows().length()));
}

}  // namespace slipway

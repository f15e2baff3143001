// A state of a decoder that keeps its cache inside and is told the slots of the tokens.
#include "generation/slot_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace slipway {

SlotState::SlotState(std::shared_ptr<const Decoder> decoder, int64_t slots)
    : BatchState(std::move(decoder), slots) {}

SlotState::SlotState(const SlotState& other) : BatchState(other) {
  other.need_named_cache("copied");
  for (auto& [leaf, tensor] : other.cache()) {
    const auto& caches = decoder().step.caches;
    const auto at = std::ranges::find(caches, leaf, &CacheTensor::leaf);
    step_call().call().set_state(at->state, tensor);
  }
}

std::unique_ptr<DecoderState> SlotState::copy() const {
  return std::unique_ptr<DecoderState>(new SlotState(*this));
}

void SlotState::need_named_cache(const char* what) const {
  if (!decoder().step.caches.empty()) return;
  throw Error(kUnsupported, fmt::format("[{}] the program does not name its cache, so what it "
                                        "read cannot be {}; reset it and read the tokens again",
                                        decoder().step.where, what));
}

std::vector<std::pair<std::string, Tensor>> SlotState::cache() const {
  std::vector<std::pair<std::string, Tensor>> contents;
  if (rows().length() == 0) return contents;
  for (const CacheTensor& cache : decoder().step.caches)
    contents.emplace_back(cache.leaf, step_call().call().get_state(cache.state));
  return contents;
}

void SlotState::crop_cache(int64_t) { need_named_cache("forgotten in part"); }

Tensor SlotState::run_tokens(const TokenSpan& tokens, int64_t past) {
  return step_call().run(rows(), tokens, past, *slots(), 1);
}

Tensor SlotState::run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) {
  const int64_t first = tokens.count - keep + 1;
  Tensor logits = run_tokens({tokens.ids, tokens.stride, first}, past);
  if (keep == 1) return logits;
  Tensor all(DType::kF32, {1, keep, logits.dim(2)});
  const auto bytes = static_cast<size_t>(logits.nbytes());
  for (int64_t i = 0;; ++i) {
    std::memcpy(all.mutable_data() + static_cast<size_t>(i) * bytes, logits.data(), bytes);
    if (i + 1 == keep) return all;
    logits = run_tokens({tokens.ids + first + i, tokens.stride, 1}, past + first + i);
  }
}

}  // namespace slipway

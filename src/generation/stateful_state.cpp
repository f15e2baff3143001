// A state of a decoder whose cache the runtime keeps from call to call.
#include "generation/stateful_state.h"

#include <algorithm>
#include <cstring>

namespace slipway {
namespace {

/// Row i of the result is row `rows[i]`.
Tensor gathered(const Tensor& tensor, std::span<const int64_t> rows) {
  Shape shape = tensor.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor result(tensor.dtype(), shape);
  const size_t bytes = tensor.dim(0) > 0 ? static_cast<size_t>(tensor.nbytes() / tensor.dim(0)) : 0;
  for (size_t i = 0; i < rows.size() && bytes > 0; ++i)
    std::memcpy(result.mutable_data() + i * bytes,
                tensor.data() + static_cast<size_t>(rows[i]) * bytes, bytes);
  return result;
}

/// The first `length` slots of [batch, heads, slots, head size].
Tensor shortened(const Tensor& tensor, int64_t length) {
  Shape shape = tensor.shape();
  const size_t from = static_cast<size_t>(shape[2] * shape[3] * itemsize(tensor.dtype()));
  shape[2] = length;
  const size_t to = static_cast<size_t>(shape[2] * shape[3] * itemsize(tensor.dtype()));
  Tensor result(tensor.dtype(), shape);
  for (size_t line = 0; line < static_cast<size_t>(shape[0] * shape[1]); ++line)
    std::memcpy(result.mutable_data() + line * to, tensor.data() + line * from, to);
  return result;
}

}  // namespace

StatefulState::StatefulState(std::shared_ptr<const Decoder> decoder, std::optional<int64_t> slots)
    : BatchState(std::move(decoder), slots) {}

StatefulState::StatefulState(const StatefulState& other) : BatchState(other), batch_(other.batch_) {
  if (rows().length() > 0) put(other.contents(), rows().length());
}

std::unique_ptr<DecoderState> StatefulState::copy() const {
  return std::unique_ptr<DecoderState>(new StatefulState(*this));
}

std::vector<std::pair<std::string, Tensor>> StatefulState::cache() const {
  std::vector<std::pair<std::string, Tensor>> views;
  if (rows().length() == 0) return views;
  const std::vector<Tensor> now = contents();
  for (size_t i = 0; i < now.size(); ++i) views.emplace_back(decoder().step.caches[i].leaf, now[i]);
  return views;
}

std::vector<Tensor> StatefulState::contents() const {
  std::vector<Tensor> now = outside_;
  if (now.empty())
    for (const CacheTensor& cache : live_->graph().caches)
      now.push_back(live_->call().get_state(cache.state));
  if (!moved_.empty())
    for (Tensor& tensor : now) tensor = gathered(tensor, moved_);
  return now;
}

void StatefulState::put(std::vector<Tensor> contents, int64_t length) {
  outside_.clear();
  moved_.clear();
  live_ = &step_call();
  for (size_t i = 0; i < contents.size(); ++i)
    live_->call().set_state(live_->graph().caches[i].state, contents[i]);
  set_counters(*live_, length);
}

void StatefulState::set_counters(DecoderCall& call, int64_t length) {
  for (const CounterState& counter : call.graph().counter_states) {
    const Tensor value = counter.dtype == DType::kI32
                             ? Tensor::of<int32_t>({}, {static_cast<int32_t>(length)})
                             : Tensor::of<int64_t>({}, {length});
    call.call().set_state(counter.state, value);
  }
}

Tensor StatefulState::run_piece(const TokenSpan& tokens, int64_t past, int64_t keep) {
  DecoderCall& call = past == 0 ? prompt_call() : step_call();
  if (past > 0 && live_ != &call) put(contents(), past);
  Tensor logits =
      call.run(rows(), tokens, past, slots().value_or(past + tokens.count), keep, moved_);
  moved_.clear();
  batch_ = rows().batch();
  live_ = &call;
  if (call.graph().keeps_cache()) return logits;
  for (size_t i = 0; i < call.graph().caches.size(); ++i)
    outside_.push_back(call.call().take_output(call.cache_output(i)));
  return logits;
}

void StatefulState::reset_cache() {
  for (DecoderCall* call : {&prompt_call(), &step_call()})
    if (call->graph().keeps_cache()) call->call().reset_states();
  live_ = nullptr;
  outside_.clear();
  moved_.clear();
}

void StatefulState::reorder_cache(std::span<const int64_t> source) {
  const bool in_call = outside_.empty() && !live_->graph().beams.empty();
  if (in_call && static_cast<int64_t>(source.size()) == batch_) {
    std::vector<int64_t> next;
    for (const int64_t row : source)
      next.push_back(moved_.empty() ? row : moved_[static_cast<size_t>(row)]);
    moved_ = std::move(next);
    return;
  }
  std::vector<Tensor> now = contents();
  batch_ = static_cast<int64_t>(source.size());
  for (Tensor& tensor : now) tensor = gathered(tensor, source);
  if (outside_.empty() && live_ == &step_call()) return put(std::move(now), rows().length());
  outside_ = std::move(now);
  moved_.clear();
}

void StatefulState::crop_cache(int64_t) {
  // Slots behind the count are masked; what they hold is finite.
  if (slots() && outside_.empty()) return set_counters(*live_, rows().length());
  if (slots()) return;
  std::vector<Tensor> now = contents();
  for (Tensor& tensor : now) tensor = shortened(tensor, rows().length());
  if (outside_.empty() && live_ == &step_call()) return put(std::move(now), rows().length());
  outside_ = std::move(now);
  moved_.clear();
}

}  // namespace slipway

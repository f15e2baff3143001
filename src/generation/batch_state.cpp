// What all states of a decoder share: checks, the rows read so far, and pieces of long prompts.
#include "generation/batch_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/input_values.h"

namespace slipway {

BatchState::BatchState(std::shared_ptr<const Decoder> decoder, std::optional<int64_t> slots)
    : decoder_(std::move(decoder)), slots_(slots), prompt_(decoder_->prompt) {
  if (!decoder_->one_graph) step_.emplace(decoder_->step);
}

BatchState::BatchState(const BatchState& other) : BatchState(other.decoder_, other.slots_) {
  other.check_usable();
  rows_ = other.rows_;
}

namespace {

void check_rows(const DecoderGraph& graph, int64_t rows) {
  if (!graph.batch || *graph.batch == rows) return;
  throw Error(kInvalid,
              fmt::format("[{}] got {} rows, the export takes exactly {}; {}", graph.where, rows,
                          *graph.batch,
                          graph.slot_positions.empty()
                              ? "export it without fixed sizes"
                              : "give them one by one, or export the model without the layout "
                                "executorch-llm"));
}

}  // namespace

std::optional<int64_t> BatchState::max_length() const {
  return limit_kind() == LengthLimit::kSlots ? slots_ : decoder_->max_positions;
}

LengthLimit BatchState::limit_kind() const {
  const auto positions = decoder_->max_positions;
  return slots_ && (!positions || *slots_ < *positions) ? LengthLimit::kSlots
                                                        : LengthLimit::kPositions;
}

void BatchState::check_usable() const {
  if (broken_)
    throw Error(kUsage, "[decoder] an earlier call failed half way; reset the state first");
}

void BatchState::check_call(const Tensor& ids, const Tensor& mask, int64_t keep) const {
  rows_.check(ids, mask);
  const DecoderGraph& graph = rows_.length() == 0 ? decoder_->prompt : decoder_->step;
  const int64_t batch = ids.dim(0), count = ids.dim(1);
  if (keep < 1 || keep > count)
    throw Error(kInvalid, fmt::format("[decoder] asked for the logits of {} positions, need 1 to "
                                      "{}",
                                      keep, count));
  check_rows(graph, batch);
  const std::optional<int64_t> limit = max_length();
  if (limit && (count > *limit || rows_.length() > *limit - count)) {
    const bool slots = limit_kind() == LengthLimit::kSlots;
    throw Error(
        kInvalid,
        fmt::format("[decoder] got {} tokens after {}, the {} {}; {}", count, rows_.length(),
                    slots ? "cache has slots for" : "model has positions for", *limit,
                    slots ? "crop or reset it, or choose a larger max_cache_len"
                          : "give a shorter prompt or ask for fewer tokens"));
  }
  const auto at = graph.limits.values.find("input_ids");
  check_values(ids, at == graph.limits.values.end() ? Range{} : at->second, graph.where,
               "input_ids");
}

Tensor BatchState::forward(const Tensor& ids, const Tensor& mask, int64_t keep) {
  check_usable();
  check_call(ids, mask, keep);
  const int64_t past = rows_.length();
  broken_ = true;
  rows_.append(mask);
  Tensor logits = run_pieces(ids, past, keep);
  broken_ = false;
  return logits;
}

Tensor BatchState::run_pieces(const Tensor& ids, int64_t past, int64_t keep) {
  const int64_t batch = ids.dim(0), total = ids.dim(1);
  Tensor gathered;
  for (int64_t begin = 0; begin < total;) {
    const int64_t left = total - begin;
    const int64_t count = std::min(left, piece_size(past + begin, left));
    // Of the last `keep` tokens of all, those that this piece has; a graph gives one at least.
    const int64_t wanted = std::max<int64_t>(0, count + keep - left);
    Tensor logits = run_piece({ids.values<int64_t>().data() + begin, total, count}, past + begin,
                              std::clamp<int64_t>(wanted, 1, count));
    if (count == left && keep <= count) return logits;
    if (wanted > 0) {
      const int64_t vocabulary = logits.dim(2);
      if (!gathered.defined()) gathered = Tensor(DType::kF32, {batch, keep, vocabulary});
      const int64_t have = std::min(wanted, count);
      const int64_t at = keep - (left - count) - have;
      for (int64_t row = 0; row < batch; ++row)
        std::memcpy(gathered.mutable_data() +
                        static_cast<size_t>((row * keep + at) * vocabulary) * sizeof(float),
                    logits.data() + static_cast<size_t>(row * have * vocabulary) * sizeof(float),
                    static_cast<size_t>(have * vocabulary) * sizeof(float));
    }
    begin += count;
  }
  return gathered;
}

int64_t BatchState::piece_size(int64_t past, int64_t count) const {
  const DecoderGraph& graph = past == 0 ? decoder_->prompt : decoder_->step;
  if (graph.tokens) return *graph.tokens;
  // A prompt may be split where the step's graph can read the rest.
  const bool follows = angles_change_at() && past + count > *angles_change_at();
  const bool splits = !follows && (past > 0 || !decoder_->step.tokens);
  return splits ? std::min({count, kPromptPiece, graph.most_tokens.value_or(kPromptPiece)}) : count;
}

void BatchState::reset() {
  rows_.reset();
  broken_ = false;
  reset_cache();
}

void BatchState::reorder(std::span<const int64_t> rows) {
  check_usable();
  if (rows_.batch() == 0)
    throw Error(kUsage, "[decoder] there are no rows to reorder before the first forward()");
  check_rows(decoder_->step, std::ssize(rows));
  rows_.reorder(rows);
  broken_ = true;
  reorder_cache(rows);
  broken_ = false;
}

void BatchState::crop(int64_t length) {
  check_usable();
  const int64_t before = rows_.length();
  rows_.crop(length);
  if (length == before) return;
  if (length == 0) return reset();
  broken_ = true;
  crop_cache(before);
  broken_ = false;
}

double BatchState::runtime_seconds() const {
  return prompt_.call().runtime_seconds() + (step_ ? step_->call().runtime_seconds() : 0);
}

}  // namespace slipway

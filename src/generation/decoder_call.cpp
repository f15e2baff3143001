// One graph of a decoder as a repeated call: tokens, positions and masks in, logits out.
#include "generation/decoder_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/floats.h"

namespace slipway {
namespace {

/// More positions than this at a time leave their logits to the runtime, which frees them.
constexpr int64_t kKeptPositions = 64;

/// ids, positions, slots, logits_to_keep, masks, counters, beams, caches: the order that the
/// offsets below tell.
std::vector<std::string> input_names(const DecoderGraph& graph) {
  std::vector<std::string> names = {graph.ids};
  if (!graph.positions.empty()) names.push_back(graph.positions);
  if (!graph.slot_positions.empty()) names.push_back(graph.slot_positions);
  if (!graph.logits_to_keep.empty()) names.push_back(graph.logits_to_keep);
  for (const MaskInput& mask : graph.masks) names.push_back(mask.name);
  names.insert(names.end(), graph.counters.begin(), graph.counters.end());
  if (!graph.beams.empty()) names.push_back(graph.beams);
  for (const CacheTensor& cache : graph.caches)
    if (!cache.input.empty()) names.push_back(cache.input);
  return names;
}

std::vector<std::string> output_names(const DecoderGraph& graph) {
  std::vector<std::string> names = {graph.logits};
  for (const CacheTensor& cache : graph.caches)
    if (!cache.output.empty()) names.push_back(cache.output);
  return names;
}

size_t bytes_of(int64_t count, DType dtype) {
  return static_cast<size_t>(count) * static_cast<size_t>(itemsize(dtype));
}

void to_float(const std::byte* from, DType dtype, int64_t count, float* to) {
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  if (dtype == DType::kF32) std::memcpy(to, from, bytes_of(count, dtype));
  else if (dtype == DType::kF16) std::transform(halves, halves + count, to, f16_to_float);
  else std::transform(halves, halves + count, to, bf16_to_float);
}

}  // namespace

DecoderCall::DecoderCall(const DecoderGraph& graph)
    : graph_(graph), call_(graph.session, input_names(graph), output_names(graph)) {
  positions_at_ = 1;
  slots_at_ = positions_at_ + (graph.positions.empty() ? 0 : 1);
  keep_at_ = slots_at_ + (graph.slot_positions.empty() ? 0 : 1);
  masks_at_ = keep_at_ + (graph.logits_to_keep.empty() ? 0 : 1);
  counters_at_ = masks_at_ + graph.masks.size();
  beams_at_ = counters_at_ + graph.counters.size();
  first_cache_ = beams_at_ + (graph.beams.empty() ? 0 : 1);
  slots_.resize(first_cache_);
  for (const MaskInput& mask : graph.masks) {
    padding_.emplace_back(mask.dtype);
    visibility_.emplace_back(mask.window);
  }
  scalars_.reserve(2 * sizeof(int64_t), Fill::kZero);
}

void DecoderCall::set_input(size_t at, DType dtype, std::initializer_list<int64_t> shape,
                            const void* data) {
  Slot& slot = slots_[at];
  if (slot.data == data &&
      std::equal(shape.begin(), shape.end(), slot.shape.begin(), slot.shape.end()))
    return;
  slot.data = data;
  slot.shape.assign(shape);
  call_.set_input(at, dtype, slot.shape, data);
}

void DecoderCall::set_tokens(const TokenRows& rows, const TokenSpan& tokens, int64_t begin) {
  const int64_t batch = rows.batch(), count = tokens.count;
  const size_t need = bytes_of(batch * count, DType::kI64);
  ids_.reserve(need);
  for (int64_t row = 0; row < batch; ++row)
    std::memcpy(ids_.data() + bytes_of(row * count, DType::kI64), tokens.ids + row * tokens.stride,
                bytes_of(count, DType::kI64));
  set_input(0, DType::kI64, {batch, count}, ids_.data());
  if (graph_.positions.empty()) return;
  positions_.reserve(need);
  rows.write_positions(begin, count, reinterpret_cast<int64_t*>(positions_.data()));
  set_input(positions_at_, DType::kI64, {batch, count}, positions_.data());
}

void DecoderCall::set_masks(const TokenRows& rows, int64_t begin, int64_t count, int64_t slots) {
  if (graph_.masks.empty() && rows.has_padding())
    throw Error(kInvalid, fmt::format("[{}] takes no attention_mask, so prompts of different "
                                      "lengths cannot share a batch; run them one by one",
                                      graph_.where));
  const int64_t batch = rows.batch();
  for (size_t i = 0; i < graph_.masks.size(); ++i) {
    const MaskInput& mask = graph_.masks[i];
    if (mask.rank == 2)
      set_input(masks_at_ + i, mask.dtype, {batch, begin + count},
                padding_[i].update(rows, begin + count));
    else
      set_input(masks_at_ + i, mask.dtype, {batch, 1, count, slots},
                visibility_[i].update(rows, begin, count, slots));
  }
}

void DecoderCall::set_slots(int64_t begin, int64_t count) {
  if (graph_.slot_positions.empty()) return;
  const int64_t given = graph_.first_slot_only ? 1 : count;
  slot_positions_.reserve(bytes_of(given, DType::kI64));
  auto* slots = reinterpret_cast<int64_t*>(slot_positions_.data());
  std::iota(slots, slots + given, begin);
  set_input(slots_at_, DType::kI64, {given}, slots);
}

void DecoderCall::set_beams(int64_t batch, std::span<const int64_t> beams) {
  if (graph_.beams.empty()) return;
  beams_.reserve(bytes_of(batch, DType::kI32));
  auto* rows = reinterpret_cast<int32_t*>(beams_.data());
  for (int64_t row = 0; row < batch; ++row)
    rows[row] = static_cast<int32_t>(beams.empty() ? row : beams[static_cast<size_t>(row)]);
  set_input(beams_at_, DType::kI32, {batch}, rows);
}

void DecoderCall::set_logits(int64_t batch, int64_t given) {
  Shape shape;
  if (graph_.vocabulary && !graph_.last_logits && given <= kKeptPositions)
    shape = {batch, given, *graph_.vocabulary};
  if (shape == logits_shape_ && (shape.empty() || logits_.data() != nullptr)) return;
  logits_shape_ = shape;
  if (shape.empty()) return call_.clear_output(0);
  logits_.reserve(bytes_of(numel(shape), graph_.logits_dtype));
  call_.set_output(0, graph_.logits_dtype, shape, logits_.data());
}

Tensor DecoderCall::kept_logits(int64_t batch, int64_t given, int64_t keep) {
  Tensor all = logits_shape_.empty() ? call_.take_output(0)
                                     : logits_.tensor(graph_.logits_dtype, logits_shape_);
  if (graph_.logits_rank == 2 && all.rank() == 2) all = all.reshape({all.dim(0), 1, all.dim(1)});
  if (graph_.last_logits && all.rank() == 3 && all.dim(1) >= keep && all.dim(1) < given)
    given = all.dim(1);
  if (all.rank() != 3 || all.dim(0) != batch || all.dim(1) != given || all.dim(2) < 1)
    throw Error(kInvalid, fmt::format("[{}] gave logits {}, need [{}, {}, vocabulary]",
                                      graph_.where, shape_string(all.shape()), batch, given));
  if (keep == given && all.dtype() == DType::kF32) return all;
  const int64_t vocabulary = all.dim(2);
  const size_t kept = bytes_of(keep * vocabulary, all.dtype());
  const size_t row = bytes_of(given * vocabulary, all.dtype());
  if (all.dtype() == DType::kF32 && batch == 1) {
    auto* begin = all.mutable_data() + row - kept;
    return Tensor::wrap(DType::kF32, {1, keep, vocabulary}, begin,
                        std::make_shared<Tensor>(std::move(all)));
  }
  converted_.reserve(bytes_of(batch * keep * vocabulary, DType::kF32));
  auto* out = reinterpret_cast<float*>(converted_.data());
  for (int64_t r = 0; r < batch; ++r, out += keep * vocabulary)
    to_float(all.data() + static_cast<size_t>(r + 1) * row - kept, all.dtype(), keep * vocabulary,
             out);
  return converted_.tensor(DType::kF32, {batch, keep, vocabulary});
}

Tensor DecoderCall::run(const TokenRows& rows, const TokenSpan& tokens, int64_t begin,
                        int64_t slots, int64_t keep, std::span<const int64_t> beams) {
  const int64_t batch = rows.batch();
  set_tokens(rows, tokens, begin);
  set_slots(begin, tokens.count);
  set_masks(rows, begin, tokens.count, slots);
  set_beams(batch, beams);
  auto* scalars = reinterpret_cast<int64_t*>(scalars_.data());
  scalars[0] = keep;
  scalars[1] = begin;
  if (!graph_.logits_to_keep.empty()) set_input(keep_at_, DType::kI64, {}, &scalars[0]);
  for (size_t i = 0; i < graph_.counters.size(); ++i)
    set_input(counters_at_ + i, DType::kI64, {}, &scalars[1]);
  const int64_t given = graph_.logits_to_keep.empty() ? tokens.count : keep;
  set_logits(batch, given);
  call_.run();
  return kept_logits(batch, given, keep);
}

}  // namespace slipway

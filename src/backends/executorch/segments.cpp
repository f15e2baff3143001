// Lays out and writes the segments of a .pte file.
#include "backends/executorch/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/output.h"
#include "base/weight_stream.h"
#include "slipway/error.h"

namespace slipway::executorch {
namespace {

constexpr int64_t kSegmentAlignment = 128;  // as ExecuTorch's own writer
constexpr int64_t kTensorAlignment = 16;    // the least that the runtime takes
constexpr int64_t kLarge = 4096;            // weights of this size begin at a segment's alignment
constexpr size_t kKeyDigits = 32;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

using Digest = std::array<unsigned char, 16>;

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest digest;
  std::copy(std::begin(bytes.digest), std::end(bytes.digest), digest.begin());
  return digest;
}

/// Packed weights depend on how bytes are read, so dtype and shape count too.
std::string key_of(const LazyTensor& data, const std::vector<Digest>& pieces) {
  std::string text = fmt::format("{}{}", short_name(data.dtype()), shape_string(data.shape()));
  for (const Digest& piece : pieces)
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  std::string key;
  for (const unsigned char c : canonical(XXH3_128bits(text.data(), text.size())))
    key += fmt::format("{:02x}", c);
  return key;
}

}  // namespace

size_t SegmentTable::weight(const Lazy& data) {
  const auto [at, added] = weight_of_.try_emplace(data.get(), weights_.size());
  if (added) weights_.push_back({data, {}});
  return at->second;
}

void SegmentTable::add_constant(const Lazy& data) {
  const auto next = static_cast<uint32_t>(constants_.size() + 1);
  if (constant_of_.try_emplace(data.get(), next).second) constants_.push_back(weight(data));
}

void SegmentTable::add_initial(const Lazy& data) {
  const auto next = static_cast<uint32_t>(initial_.size() + 1);
  if (initial_of_.try_emplace(data.get(), next).second) initial_.push_back(data);
}

void SegmentTable::add_named(const Lazy& data) {
  const size_t i = weight(data);
  if (!weights_[i].key.empty()) return;
  weights_[i].key = fmt::format("{:0{}}", named_.size(), kKeyDigits);
  named_.push_back(i);
}

size_t SegmentTable::add_block(std::string bytes, std::string key) {
  blocks_.push_back({std::move(bytes), std::move(key)});
  return blocks_.size() - 1;
}

const std::string& SegmentTable::key(const Lazy& data) const {
  return weights_[weight_of_.at(data.get())].key;
}

void SegmentTable::replace_block(size_t block, std::string bytes) {
  SLIPWAY_ASSERT(bytes.size() == blocks_[block].bytes.size());
  blocks_[block].bytes = std::move(bytes);
}

void SegmentTable::lay_out() {
  std::vector<std::pair<Segment, uint32_t*>> all;
  std::vector<bool> placed(weights_.size());
  int64_t at = 0;
  constant_offsets_ = {0};
  for (const size_t i : constants_) {
    Weight& weight = weights_[i];
    const int64_t bytes = weight.data->nbytes();
    at = round_up(at, bytes >= kLarge ? kSegmentAlignment : kTensorAlignment);
    weight.offset = at;
    placed[i] = true;
    constant_offsets_.push_back(static_cast<uint64_t>(at));
    at += bytes;
  }
  // The runtime loads no empty segment, and looks into it for tensors without elements.
  if (!constants_.empty()) at = std::max(at, kTensorAlignment);
  all.push_back({{0, at}, &constant_segment_});
  if (!initial_.empty()) {
    const int64_t base = at = round_up(at, kSegmentAlignment);
    initial_offsets_ = {0};
    for (const Lazy& data : initial_) {
      at = round_up(at, kTensorAlignment);
      initial_places_.push_back(at);
      initial_offsets_.push_back(static_cast<uint64_t>(at - base));
      at += data->nbytes();
    }
    at = std::max(at, base + kTensorAlignment);
    all.push_back({{base, at - base}, &initial_segment_});
  }
  for (Block& block : blocks_) {
    block.offset = at = round_up(at, kSegmentAlignment);
    const auto bytes = static_cast<int64_t>(block.bytes.size());
    all.push_back({{at, bytes}, &block.segment});
    at += bytes;
  }
  for (const size_t i : named_) {
    Weight& weight = weights_[i];
    if (!placed[i]) {
      weight.offset = at = round_up(at, kSegmentAlignment);
      at += weight.data->nbytes();
    }
    all.push_back({{weight.offset, weight.data->nbytes()}, &weight.segment});
  }
  size_ = at;
  finish_segments(std::move(all));
}

void SegmentTable::finish_segments(std::vector<std::pair<Segment, uint32_t*>> all) {
  // The segment of constants comes before those inside it.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.offset < b.first.offset; });
  for (const auto& [segment, number] : all) {
    *number = static_cast<uint32_t>(segments_.size());
    segments_.push_back(segment);
  }
}

std::vector<NamedSegment> SegmentTable::named() const {
  std::vector<NamedSegment> entries;
  std::set<std::string> seen;
  for (const size_t i : named_)
    if (seen.insert(weights_[i].key).second)
      entries.push_back({weights_[i].key, weights_[i].segment});
  for (const Block& block : blocks_)
    if (!block.key.empty()) entries.push_back({block.key, block.segment});
  return entries;
}

void SegmentTable::write_weights(OutputFile& file, int64_t base) {
  std::vector<WeightPlace> places;
  std::vector<std::vector<Digest>> digests(weights_.size());
  for (size_t i = 0; i < weights_.size(); ++i) {
    places.push_back({weights_[i].data.get(), base + weights_[i].offset, &file});
    if (!weights_[i].key.empty()) digests[i].resize(num_pieces(*weights_[i].data));
  }
  for (size_t i = 0; i < initial_.size(); ++i)
    places.push_back({initial_[i].get(), base + initial_places_[i], &file});
  stream_weights(places, [&](size_t weight, size_t piece, ByteSpan bytes) {
    if (weight < digests.size() && !digests[weight].empty())
      digests[weight][piece] = canonical(XXH3_128bits(bytes.data(), bytes.size()));
  });
  for (const size_t i : named_) weights_[i].key = key_of(*weights_[i].data, digests[i]);
}

void SegmentTable::write_blocks(OutputFile& file, int64_t base) const {
  for (const Block& block : blocks_)
    file.write_at(base + block.offset, std::as_bytes(std::span<const char>(block.bytes)));
}

}  // namespace slipway::executorch

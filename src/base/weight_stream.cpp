// Streams weights to files.
#include "base/weight_stream.h"

#include <algorithm>
#include <vector>

#include "base/output.h"
#include "base/parallel.h"
#include "base/progress.h"

namespace slipway {
namespace {

constexpr int64_t kPiece = int64_t{8} << 20;

/// Elements a thread computes at a time: about kPiece bytes, whole granules, at least one.
int64_t piece_elements(const LazyTensor& weight) {
  const int64_t granule = std::max<int64_t>(1, weight.granularity());
  const int64_t wanted = kPiece / itemsize(weight.dtype());
  return std::max(granule, wanted / granule * granule);
}

struct Piece {
  size_t weight, number;
};

}  // namespace

size_t num_pieces(const LazyTensor& weight) {
  const int64_t step = piece_elements(weight);
  return static_cast<size_t>((weight.numel() + step - 1) / step);
}

void stream_weights(std::span<const WeightPlace> weights, const PieceObserver& observe) {
  std::vector<Piece> pieces;
  int64_t total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    total += weights[i].weight->nbytes();
    for (size_t p = 0; p < num_pieces(*weights[i].weight); ++p) pieces.push_back({i, p});
  }
  Progress progress("weights", total);
  parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    const WeightPlace& place = weights[piece.weight];
    const LazyTensor& weight = *place.weight;
    const int64_t step = piece_elements(weight);
    const int64_t begin = static_cast<int64_t>(piece.number) * step;
    const int64_t count = std::min(step, weight.numel() - begin);
    const auto size = static_cast<size_t>(itemsize(weight.dtype()));
    const size_t at = static_cast<size_t>(begin) * size, bytes = static_cast<size_t>(count) * size;
    const auto write = [&](ByteSpan contents) {
      if (observe) observe(piece.weight, piece.number, contents);
      place.file->write_at(place.offset + static_cast<int64_t>(at), contents);
    };
    if (const auto whole = weight.view()) {
      write(whole->subspan(at, bytes));
    } else {
      thread_local std::vector<std::byte> buffer;
      buffer.resize(std::max(buffer.size(), bytes));
      weight.read(begin, count, buffer.data());
      write(ByteSpan(buffer.data(), bytes));
    }
    progress.add(static_cast<int64_t>(bytes));
  });
}

}  // namespace slipway

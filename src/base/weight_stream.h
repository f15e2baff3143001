// Weights computed piece by piece on all cores and written to their places in files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/lazy.h"

namespace slipway {

class OutputFile;

/// A weight and where its bytes go.
struct WeightPlace {
  const LazyTensor* weight = nullptr;
  int64_t offset = 0;
  OutputFile* file = nullptr;
};

/// The pieces that a weight is written in: as many for equal weights.
size_t num_pieces(const LazyTensor& weight);

/// Sees a piece of weights[weight] before it is written. Called on several threads, once a piece.
using PieceObserver = std::function<void(size_t weight, size_t piece, ByteSpan bytes)>;

/// Writes every weight, a few MiB at a time and core; nothing is gathered.
void stream_weights(std::span<const WeightPlace> weights, const PieceObserver& observe = {});

}  // namespace slipway

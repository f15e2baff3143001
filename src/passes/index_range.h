// Recognizes values that count: the indices that masks and gathers are made of.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace slipway {

/// An integer tensor whose elements are start, start + 1, ... along one axis and which has size 1
/// along all others.
struct IndexRange {
  Sym start, count;
  int64_t axis = 0;  ///< counted from the end, -1 for the last; 0 where the one element has none
};

/// The range that a value is: an arange, a constant that counts, either of them shifted by a size,
/// cut, or viewed with its axis elsewhere. Nullopt for everything else.
std::optional<IndexRange> index_range(Value value);

}  // namespace slipway

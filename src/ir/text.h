// Limits that the printer and the parser of graphs share; private to src/ir.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slipway {

/// Constants of more elements are printed as a digest.
constexpr int64_t kMaxPrintedElements = 16;

constexpr size_t kMaxGraphText = size_t{64} << 20;
constexpr size_t kMaxGraphValues = size_t{1} << 20;
constexpr size_t kMaxRank = 64;

}  // namespace slipway
